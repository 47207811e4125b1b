//! Checks the results of a kernel at increasing sizes.

use numbers::{Element, group, mixed};
use simt::{Arch, Schedule};

use crate::case::{Case, Said};
use crate::constants::constants;
use crate::held::{held, once};
use crate::lesson::lesson;
use crate::long;
use crate::scene::{Scene, blocks};
use crate::task::{SIZES, Shape};
use crate::unusual::unusual;
use crate::values::{Values, cancelling, shown, sparse};
use crate::verdict::{Failure, Stage};

/// Sizes with many elements per thread, and with grids of many blocks.
const LONG: [u64; 5] = [14_739, 1 << 14, (1 << 15) + 3, 1 << 21, (1 << 21) + 1];

/// Sizes that are tried with the other block sizes.
const FEW: [u64; 4] = [1, 513, 65, 2051];

/// Tests every size in every type, then other block sizes, large grids, and sizes beyond 32 bits.
pub(crate) fn right(case: &Case) -> Said {
    let (usual, others) = case.task.blocks.split_first().expect("every task has a block size");
    // The empty input is the rarest case, so it comes after the sizes that show a fault more
    // clearly.
    for n in SIZES[1..].iter().chain([&SIZES[0]]) {
        for (element, _) in &case.modules {
            for grid in case.task.shape.grids(*n, *usual) {
                held(&case.scene(*element, *n, *usual, grid), case.seed)?;
            }
        }
    }
    for (k, (element, _)) in (0..).zip(&case.modules) {
        // This size depends on the seed, so no kernel can be written for this size alone.
        let n = 1 + mixed(case.seed ^ (k << 40)) % 3000;
        for grid in case.task.shape.grids(n, *usual) {
            held(&case.scene(*element, n, *usual, grid), case.seed)?;
        }
    }
    if matches!(case.task.shape, Shape::Tiles { .. }) {
        // More blocks than needed: they have no elements.
        for (element, _) in &case.modules {
            for threads in case.task.blocks {
                let grid = case.task.shape.grids(513, *threads)[0];
                for more in [1, 5] {
                    held(&case.scene(*element, 513, *threads, grid + more), case.seed)?;
                }
            }
        }
    }
    for threads in others {
        for (element, _) in &case.modules {
            let sizes = if *element == Element::F32 { &FEW[..] } else { &FEW[2..] };
            for n in sizes {
                for grid in case.task.shape.grids(*n, *threads) {
                    held(&case.scene(*element, *n, *threads, grid), case.seed)?;
                }
            }
        }
    }
    unusual(case)?;
    let types = case.modules.len();
    let types = if types == 1 { "float alone".into() } else { format!("{types} types") };
    let mut said = format!("for {} awkward sizes, {types}", SIZES.len());
    if !others.is_empty() {
        said += &format!(", {} block sizes", 1 + others.len());
    }
    if !matches!(case.task.shape, Shape::Tiles { .. }) {
        // At the sizes that follow, a kernel in which one thread or block does all the work would
        // take too long.
        lesson(case)?;
    }
    if let Some(most) = case.task.shape.most() {
        // The largest grid is checked only once, because checking so many blocks takes a long time.
        held(&case.scene(Element::F32, 1026, *usual, most), case.seed)?;
        // These sizes are not multiples of the number of blocks.
        let some = (0..4).map(|k| mixed(case.seed ^ k << 42) % 5000);
        let left = [2, 5].map(|k| k * u64::from(most) - 1).into_iter().chain(some);
        for n in left {
            let scene = case.scene(Element::F32, n, *usual, most);
            once(&Scene { watched: false, ..scene }, case.seed)?;
        }
        for (element, n) in [(Element::F32, 300_007), (Element::F64, 4099), (Element::I32, 0)] {
            if case.has(element) {
                let scene = case.scene(element, n, *usual, most);
                held(&Scene { watched: false, ..scene }, case.seed)?;
            }
        }
        if !matches!(case.task.shape, Shape::Shares { .. }) {
            grids(case)?;
        }
        said += &format!(", grids of up to {} blocks", group(most.into()));
    }
    if !matches!(case.task.shape, Shape::Tiles { .. }) {
        for n in LONG {
            // Long launches use the largest grid.
            let grids = case.task.shape.grids(n, *usual);
            let few = if n > 1 << 20 { grids.len() - 1 } else { 0 };
            for grid in &grids[few..] {
                let scene = case.scene(Element::F32, n, *usual, *grid);
                once(&Scene { watched: false, ..scene }, case.seed)?;
            }
        }
        said += ", sizes up to 2^21+1";
    }
    if let Some(most) = long::long(case)? {
        said += &format!(", and {most} elements");
    }
    constants(case)?;
    if case.task.same_bits {
        same_bits(case)?;
        said += match case.task.shape {
            Shape::Mailbox { .. } => "; the same bits in every order",
            _ => "; the same bits on every grid, in every order",
        };
    }
    Ok(said)
}

/// Checks grids near multiples of a warp, and others that depend on the seed. Each block has
/// elements.
fn grids(case: &Case) -> Result<(), Box<Failure>> {
    let near = (1..8u64).flat_map(|warps| [32 * warps - 1, 32 * warps + 1 + case.seed % 3]);
    let some = (0..12).map(|k| 9 + mixed(case.seed ^ k << 44) % 248);
    for grid in near.chain(some) {
        let threads = case.task.blocks[0];
        let scene = case.scene(Element::F32, 1024 * grid, threads, grid as u32);
        once(&Scene { watched: false, ..scene }, case.seed)?;
    }
    Ok(())
}

/// Checks that all grids give the same bits in any order and on any GPU, for numbers whose sums are
/// rounded. With a mailbox, the bits may differ from grid to grid.
fn same_bits(case: &Case) -> Result<(), Box<Failure>> {
    let threads = case.task.blocks[0];
    let sizes = [(Element::F32, (1 << 15) + 3), (Element::F64, 4099), (Element::F32, 300)];
    let long = (Element::F32, 100_003 + case.seed % 5000);
    // This size depends on the seed, so a kernel cannot fix its order for known sizes alone.
    let power = 1 << (18 + case.seed % 4);
    let longer = (Element::F32, power + mixed(case.seed) % power);
    let wide =
        [9000, 11_000, 13_000, 260_000, 260_000].map(|n| (Element::F32, n + case.seed % 1000));
    let sizes = sizes.into_iter().chain([long, longer]).chain(wide);
    for (at, (element, n)) in sizes.enumerate() {
        if !case.has(element) {
            continue;
        }
        let values = match at {
            5..8 => cancelling(element, n, case.seed),
            8.. => sparse(element, n, mixed(case.seed) ^ at as u64, [32, 1][at - 8]),
            _ => Values::rounded(element, n, case.seed).bytes(),
        };
        let mut first: Option<(String, Vec<u8>, f64)> = None;
        let mut runs: Vec<(u32, Schedule, Option<Arch>)> = Vec::new();
        let grids = case.task.shape.grids(n, threads);
        let order = |of: u32| Schedule::Adversarial((case.seed >> 1).wrapping_add(u64::from(of)));
        for grid in grids.iter().copied().chain([7]).filter(|_| at != 4 && at < 8) {
            runs.extend([(grid, Schedule::Converged, None), (grid, order(grid), None)]);
        }
        // The first size is also run in more orders, on other GPUs, and on more grids, and later
        // sizes are also run on large grids.
        let mailbox = matches!(case.task.shape, Shape::Mailbox { .. });
        match at {
            0 => {
                let most = case.task.shape.most().filter(|_| !mailbox);
                runs.extend(most.iter().flat_map(|most| {
                    let random = |of: u32| (mixed(case.seed ^ u64::from(of)) >> 8) as u32;
                    [64, 256, *most].map(|end| {
                        let grid = end / 4 + random(end) % (end / 4 * 3);
                        (grid, Schedule::Converged, None)
                    })
                }));
                runs.extend((8..12).map(|seed| (5, order(seed), None)));
                runs.extend(Arch::ALL.iter().map(|arch| (5, Schedule::MinPc, Some(*arch))));
            }
            2 => runs.extend(case.task.shape.most().map(|grid| (grid, Schedule::Converged, None))),
            3 => {
                runs.push((64, order(64), None));
                let most = case.task.shape.most().filter(|_| !mailbox);
                let known = most.into_iter().flat_map(|most| [3, 4, 100, 257, 300, most]);
                runs.extend(known.map(|grid| (grid, Schedule::Converged, None)));
            }
            4 => runs.extend([5, 64].map(|grid| (grid, Schedule::Converged, None))),
            _ => {}
        }
        if mailbox {
            // A sum that is added in order of arrival can have the same bits in many orders of
            // execution.
            runs.extend((20..40).filter(|_| at < 2).map(|seed| (7, order(seed), None)));
            // One seed in four starts all blocks, so that messages arrive while the last block polls.
            // Only a large input has elements for all blocks.
            let all = (40..72).filter(|seed| (case.seed >> 1).wrapping_add(*seed) % 4 == 3);
            let all = all.filter(|_| at >= 8);
            runs.extend(all.map(|seed| (250, order(seed as u32), None)));
            runs.sort_by_key(|(grid, ..)| *grid);
        }
        let mut compared = None;
        for (grid, schedule, gpu) in runs {
            if mailbox && compared.replace(grid) != Some(grid) {
                first = None;
            }
            let scene = case.scene(element, n, threads, grid);
            let scene = Scene { schedule, watched: false, gpu, ..scene };
            let mut left = scene.run_bytes(&values)?.left.remove(0);
            let (bits, sum) = (left.bits.remove(0), left.results[0][0]);
            let order = match schedule {
                Schedule::Converged => String::new(),
                other => format!(" under the order {other}"),
            };
            let on = gpu.map_or(String::new(), |arch| format!(" of {}", arch.a_gpu()));
            let here = format!("on a grid of {}{on}{order}", blocks(grid));
            match &first {
                Some((there, before, was)) if *before != bits => {
                    let said = format!(
                        "n = {} {element}: the sum of the same elements is {} {there} and {} {here}, in blocks of {threads} threads",
                        numbers::size(n),
                        shown(element, *was),
                        shown(element, sum),
                    );
                    let failure = Failure::new(Stage::Right, said);
                    return Err(Box::new(Failure { idea: Some(case.task.idea.1), ..failure }));
                }
                Some(_) => {}
                None => first = Some((here, bits, sum)),
            }
        }
    }
    Ok(())
}
