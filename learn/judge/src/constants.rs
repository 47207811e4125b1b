//! Checks blocks, sizes, grids and elements that equal a constant of the kernel.
//!
//! A condition such as `blockIdx.x == 1234` is true in none of the other launches. Its constant is
//! in the PTX, so these launches are derived from it.

use std::collections::BTreeSet;
use std::ops::Range;

use numbers::{Element, mixed};
use simt::Module;

use crate::case::Case;
use crate::held::{held_by, once, totals};
use crate::long::{BLOCKS, of_threads, shared_out};
use crate::scene::{Scene, elements};
use crate::task::{Operation, Shape};
use crate::values::{bytes, shown};
use crate::verdict::{Failure, Stage};

/// The maximum number of constants of a kind that are tried.
const MOST: usize = 48;
/// The maximum number of elements in a launch of a whole grid.
const WHOLE: u64 = 1 << 18;

/// The constants of a kernel: whole numbers, and the bits of floating-point numbers.
#[derive(Debug, Default, PartialEq)]
struct Constants {
    whole: BTreeSet<u64>,
    float: BTreeSet<u64>,
}

impl Constants {
    /// Collects the constants in the instructions of a kernel. A negative number counts as its
    /// magnitude.
    fn of(module: &Module, entry: &str, element: Element) -> Constants {
        let mut all = Constants::default();
        let Some(kernel) = module.kernel(entry) else { return all };
        for pc in 0..kernel.len() as u32 {
            all.add(kernel.text(pc), element);
        }
        all
    }

    fn add(&mut self, instruction: &str, element: Element) {
        let prefix = if element == Element::F64 { "0d" } else { "0f" };
        // The first word is the operation.
        let words = instruction.split([' ', ',', ';', '\t']).filter(|word| !word.is_empty());
        for word in words.skip(1) {
            if let Some(bits) = word.strip_prefix(prefix) {
                self.float.extend(u64::from_str_radix(bits, 16).ok());
            } else if let Ok(number) = word.parse::<i128>() {
                self.whole.insert(number.unsigned_abs() as u64);
            }
        }
    }
}

/// Checks the launches that follow from the constants, for each type.
pub(crate) fn constants(case: &Case) -> Result<(), Box<Failure>> {
    let mut tried = BTreeSet::new();
    for (element, module) in &case.modules {
        for threads in case.task.blocks {
            let entry = case.scene(*element, 1, *threads, 1).entry()?;
            let all = Constants::of(module, &entry, *element);
            let new = all.whole.iter().filter(|whole| !tried.contains(*whole));
            let new: Vec<u64> = new.copied().take(MOST).collect();
            for whole in &new {
                match case.task.shape {
                    Shape::Tiles { each } => tiles(case, each, *element, *threads, *whole)?,
                    _ => wholes(case, *element, *whole)?,
                }
            }
            tried.extend(new);
            if *threads == case.task.blocks[0] {
                values(case, *element, &all)?;
            }
        }
    }
    Ok(())
}

/// Runs the blocks, the grid and the sizes around a constant, and the block that has the element
/// with this index.
fn tiles(
    case: &Case,
    each: u64,
    element: Element,
    threads: u32,
    whole: u64,
) -> Result<(), Box<Failure>> {
    if usize::BITS < 64 {
        return Ok(()); // A web page has no memory for the list of pages.
    }
    let tile = each * u64::from(threads);
    let run = |n: u64, window| of_threads(case, threads, each, element, n, window).map(|_| ());
    if whole >= 3 && whole + 2 <= BLOCKS {
        run((whole + 2) * tile - 13, whole - 1..whole + 2)?;
        run(whole * tile, whole - 2..whole)?;
        run(whole * tile, 0..1)?;
    }
    if whole >= 3 && whole.div_ceil(tile) < BLOCKS {
        for n in [whole - 1, whole, whole + 1] {
            let blocks = n.div_ceil(tile);
            if n < WHOLE / 16 {
                let scene = case.scene(element, n, threads, blocks as u32);
                once(&scene, case.seed)?;
                continue;
            }
            run(n, blocks.saturating_sub(2)..blocks)?;
        }
        let block = whole / tile;
        run(((block + 2) * tile).min(BLOCKS * tile), block..block + 1)?;
    }
    Ok(())
}

/// Runs whole grids of a constant number of blocks, and of a constant number of elements.
fn wholes(case: &Case, element: Element, whole: u64) -> Result<(), Box<Failure>> {
    let threads = case.task.blocks[0];
    let most = case.task.shape.most().map_or(1, u64::from);
    let grid = if most == 1 { 1 } else { 3 };
    if (2..=WHOLE).contains(&whole) {
        for n in [whole - 1, whole, whole + 1] {
            let scene = case.scene(element, n, threads, grid);
            once(&Scene { watched: n < 1 << 12, ..scene }, case.seed)?;
        }
    }
    if matches!(case.task.shape, Shape::Shares { .. })
        && whole > WHOLE
        && whole < 3 << 32
        && usize::BITS == 64
    {
        shared_out(case, whole + 1, 64)?;
    }
    for grid in [whole, whole + 1] {
        if (2..=most).contains(&grid) {
            let scene = case.scene(element, 2051, threads, grid as u32);
            once(&Scene { watched: false, ..scene }, case.seed)?;
        }
    }
    Ok(())
}

/// Checks inputs of zeros that have one element, or two, with the value of a constant.
fn values(case: &Case, element: Element, all: &Constants) -> Result<(), Box<Failure>> {
    let (threads, n) = (case.task.blocks[0], 700 + case.seed % 100);
    let numbers: Vec<f64> = match element {
        Element::I32 => {
            let both = all.whole.iter().map(|whole| *whole as u32 as i32);
            let both = both.flat_map(|number| [number, number.wrapping_neg()]);
            both.filter(|number| number.unsigned_abs() > 1).map(f64::from).collect()
        }
        Element::F32 => all.float.iter().map(|bits| f32::from_bits(*bits as u32).into()).collect(),
        Element::F64 => all.float.iter().map(|bits| f64::from_bits(*bits)).collect(),
    };
    let grid = case.task.shape.grids(n, threads)[0];
    let scene = Scene { watched: false, ..case.scene(element, n, threads, grid) };
    for number in numbers.into_iter().filter(|x| x.is_finite() && *x != 0.0).take(MOST) {
        let at = (mixed(case.seed ^ number.to_bits()) % (n - 1)) as usize;
        for many in [1, 2] {
            value(&scene, number, at..at + many)?;
        }
    }
    Ok(())
}

/// Checks an input of zeros in which the elements of a range have another value.
fn value(scene: &Scene<'_>, number: f64, at: Range<usize>) -> Result<(), Box<Failure>> {
    let round = |sum: f64| match scene.element {
        Element::I32 => f64::from(sum as i64 as i32),
        Element::F32 => f64::from(sum as f32),
        Element::F64 => sum,
    };
    let mut numbers = vec![0.0; scene.n as usize];
    numbers[at.clone()].fill(number);
    let left = scene.run_bytes(&bytes(scene.element, &numbers))?.left.remove(0);
    for (which, results) in left.results.iter().enumerate() {
        let is_max = scene.task.operation == Operation::Max || which == 1;
        for (index, given) in totals(scene, results).into_iter().enumerate() {
            let range = held_by(scene, index);
            let of = &numbers[range.clone()];
            let expected = match is_max {
                true => of.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                false => round(of.iter().sum()),
            };
            if given != expected && !of.is_empty() {
                let word = if is_max { "maximum" } else { "sum" };
                let said = format!(
                    "{}, where the elements are zeros but for `in[{}]`{}, which {} {}: the {word} of {} is {} instead of {}",
                    scene.what(),
                    at.start,
                    if at.len() > 1 { " and the next one" } else { "" },
                    if at.len() > 1 { "are" } else { "is" },
                    shown(scene.element, number),
                    elements(&range),
                    shown(scene.element, given),
                    shown(scene.element, expected)
                );
                return Err(Box::new(Failure::new(Stage::Right, said)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_operands() {
        let mut all = Constants::default();
        all.add("setp.gt.u32 %p1, %r5, 999;", Element::F32);
        all.add("@%p1 add.s64 %rd2, %rd1, -1000;", Element::F32);
        all.add("mov.f32 %f1, 0f42280000;", Element::F32);
        all.add("mov.f64 %fd1, 0d4045000000000000;", Element::F32);
        all.add("ld.global.f32 %f2, [%rd1+1024];", Element::F32);
        assert_eq!(all.whole, [999, 1000].into());
        assert_eq!(all.float, [u64::from(42f32.to_bits())].into());
    }
}
