//! Whether a kernel gives what it should: size after size, the smallest first.

use std::ops::Range;

use numbers::Element;

use crate::case::{Case, Said};
use crate::long;
use crate::scene::{Left, Scene, Seen, blocks, elements};
use crate::task::{Operation, SIZES, Shape};
use crate::values::{Draw, Values, shown};
use crate::verdict::{Failure, Stage};

/// Sizes at which a thread has many elements, and a grid many parts.
const LONG: [u64; 5] = [14_739, 1 << 14, (1 << 15) + 3, 1 << 21, (1 << 21) + 1];

/// Sizes that other blocks are tried with.
const FEW: [u64; 4] = [1, 65, 513, 2051];

/// Every size, in every type; then other blocks, then a size beyond 32 bits.
pub(crate) fn right(case: &Case) -> Said {
    let (usual, others) = case.task.blocks.split_first().expect("a task has a block size");
    for n in SIZES {
        for (element, _) in &case.modules {
            for grid in case.task.shape.grids(n, *usual) {
                held(&case.scene(*element, n, *usual, grid), case.seed)?;
            }
        }
    }
    for threads in others {
        for n in FEW {
            for grid in case.task.shape.grids(n, *threads) {
                held(&case.scene(Element::F32, n, *threads, grid), case.seed)?;
            }
        }
    }
    peaks(case)?;
    let types = case.modules.len();
    let types = if types == 1 { "float alone".into() } else { format!("{types} types") };
    let mut said = format!("on {} awkward sizes, {types}", SIZES.len());
    if !others.is_empty() {
        said += &format!(", blocks of {} sizes", 1 + others.len());
    }
    if matches!(case.task.shape, Shape::Tiles { .. }) {
        if long::long(case)? {
            said += ", and on 2^32+13";
        }
    } else {
        for n in LONG {
            // The largest grid, where a launch takes long.
            let grids = case.task.shape.grids(n, *usual);
            let few = if n > 1 << 20 { grids.len() - 1 } else { 0 };
            for grid in &grids[few..] {
                let scene = case.scene(Element::F32, n, *usual, *grid);
                once(&Scene { watched: false, ..scene }, case.seed)?;
            }
        }
        said += ", and up to 2^21+1";
    }
    if case.task.same_bits {
        same_bits(case)?;
        said += "; the same bits on every grid";
    }
    Ok(said)
}

/// Where the largest is asked for, every warp of a block has it once.
fn peaks(case: &Case) -> Result<(), Box<Failure>> {
    let Shape::Tiles { each } = case.task.shape else { return Ok(()) };
    if case.task.operation == Operation::Sum {
        return Ok(());
    }
    for threads in case.task.blocks {
        let tile = each * u64::from(*threads);
        let n = 32 * tile;
        for grid in case.task.shape.grids(n, *threads) {
            let scene = Scene { watched: false, ..case.scene(Element::F32, n, *threads, grid) };
            let values = Values::draw(Element::F32, n, case.seed, Draw::Peaks(tile));
            let seen = scene.run(std::slice::from_ref(&values))?;
            if let Some(failure) = wrong(&scene, &seen.left[0], &values) {
                return Err(Box::new(failure));
            }
        }
    }
    Ok(())
}

/// Holds one launch against the exact results: a kernel that is counted is right there too.
pub(crate) fn once(scene: &Scene<'_>, seed: u64) -> Result<Seen, Box<Failure>> {
    let values = Values::draw(scene.element, scene.n, seed, Draw::Signed);
    let seen = scene.run(std::slice::from_ref(&values))?;
    match wrong(scene, &seen.left[0], &values) {
        Some(failure) => Err(Box::new(failure)),
        None => Ok(seen),
    }
}

/// Holds a launch, and a second one over the same memory, against the exact results.
pub(crate) fn held(scene: &Scene<'_>, seed: u64) -> Result<Seen, Box<Failure>> {
    let draws: &[Draw] = match scene.task.operation {
        Operation::Sum => &[Draw::Signed, Draw::Signed],
        _ => &[Draw::Signed, Draw::Negative, Draw::SomeNan],
    };
    // A sum with a NaN in it is one, and tells nothing.
    let both = scene.task.operation == Operation::SumAndMax;
    let draws = if both { &draws[..2] } else { draws };
    let seeds = (0..).map(|launch| seed ^ (launch << 32) ^ scene.n);
    let inputs: Vec<Values> = (draws.iter().zip(seeds))
        .map(|(draw, seed)| Values::draw(scene.element, scene.n, seed, *draw))
        .collect();
    let seen = scene.run(&inputs)?;
    if let Some(finding) = seen.findings.first() {
        let mut said = format!("{}: {}", scene.what(), finding.sentence());
        if !scene.task.warps {
            said = said.replace("a `__syncwarp()` is missing", "a `__syncthreads()` is missing");
        }
        let lines = finding.sites.iter().map(|site| site.line);
        return Err(Box::new(Failure::new(Stage::Clean, said).at(lines)));
    }
    for (launch, (left, values)) in seen.left.iter().zip(&inputs).enumerate() {
        if let Some(mut failure) = wrong(scene, left, values) {
            if launch > 0 && draws[launch] == draws[0] {
                failure.said = format!(
                    "{}, though the launch before it was right, over the same memory{}",
                    failure.said,
                    seen.state.first().map_or(String::new(), |f| format!(": {}", f.sentence()))
                );
                let sites = seen.state.first().into_iter().flat_map(|f| &f.sites);
                failure = failure.at(sites.map(|site| site.line).collect::<Vec<_>>());
            } else if scene.n >= scene.task.idea.0 && written(left) {
                failure.idea = Some(scene.task.idea.1);
            }
            return Err(Box::new(failure));
        }
    }
    Ok(seen)
}

/// Whether a launch wrote all that it had to: then it lacks an idea, and not a line.
fn written(left: &Left) -> bool {
    left.unwritten.iter().flatten().all(|unwritten| !unwritten)
}

/// The first wrong result of a launch.
fn wrong(scene: &Scene<'_>, left: &Left, values: &Values) -> Option<Failure> {
    let (task, element) = (scene.task, scene.element);
    let failure = |said: String| Some(Failure::new(Stage::Right, said));
    if let Some(at) = left.changed {
        return failure(format!(
            "{}: the kernel has changed its input, first `in[{at}]`: write to `out` and to shared memory only",
            scene.what()
        ));
    }
    for (which, results) in left.results.iter().enumerate() {
        let name = match (task.operation, which) {
            (Operation::Sum, _) => "sum",
            (Operation::SumAndMax, 0) => "sum",
            _ => "maximum",
        };
        let shares = matches!(task.shape, Shape::Shares { .. });
        if let Some(at) = left.unwritten[which].iter().position(|unwritten| *unwritten) {
            let place =
                if task.shape.by_block() { format!("block {at}") } else { "no block".into() };
            let never = if task.shape.by_block() { "never wrote" } else { "has written" };
            return failure(format!("{}: {place} {never} its {name}", scene.what()));
        }
        // Blocks that share as they like have one sum, which is all of theirs.
        let results = if shares { &vec![added(element, results)] } else { results };
        for (at, given) in results.iter().enumerate() {
            let range = held_by(scene, at);
            let expected = values.result(range.clone(), task.operation, which == 1);
            if *given == expected {
                continue;
            }
            let who = match task.shape {
                Shape::Tiles { .. } => format!(
                    "block {at}, which has {}, gave the {name} {}",
                    elements(&range),
                    shown(element, *given)
                ),
                Shape::Shares { .. } => {
                    format!("the blocks' {name}s together are {}", shown(element, *given))
                }
                _ => format!("the {name} is {}", shown(element, *given)),
            };
            let looks = match name {
                "sum" => values.looks(range, *given).map_or(String::new(), |l| format!(": {l}")),
                _ => String::new(),
            };
            return failure(format!(
                "{}: {who} instead of {}{looks}",
                scene.what(),
                shown(element, expected)
            ));
        }
    }
    None
}

/// The sum of partial sums, in their type; none of them rounds.
fn added(element: Element, sums: &[f64]) -> f64 {
    match element {
        Element::I32 => f64::from(sums.iter().fold(0i32, |sum, s| sum.wrapping_add(*s as i32))),
        _ => sums.iter().sum(),
    }
}

/// The elements of a result.
fn held_by(scene: &Scene<'_>, at: usize) -> Range<usize> {
    let n = scene.n as usize;
    match scene.task.shape {
        Shape::Tiles { each } => {
            let tile = each as usize * scene.threads as usize;
            (at * tile).min(n)..((at + 1) * tile).min(n)
        }
        _ => 0..n,
    }
}

/// Whether all grids give the same bits, on numbers whose sums round.
fn same_bits(case: &Case) -> Result<(), Box<Failure>> {
    for (element, n) in [(Element::F32, (1 << 15) + 3), (Element::F64, 4099), (Element::F32, 300)] {
        if !case.has(element) {
            continue;
        }
        let values = Values::rounded(element, n, case.seed);
        let mut first: Option<(u32, Vec<u8>, f64)> = None;
        for grid in case.task.shape.grids(n, case.task.blocks[0]) {
            let scene = case.scene(element, n, case.task.blocks[0], grid);
            let mut left = scene.run(std::slice::from_ref(&values))?.left.remove(0);
            let (bits, sum) = (left.bits.remove(0), left.results[0][0]);
            match &first {
                Some((other, before, was)) if *before != bits => {
                    let said = format!(
                        "n = {n} {element}: the sum is {} on a grid of {} and {} on one of {grid}, of the same elements, in blocks of {} threads",
                        shown(element, *was),
                        blocks(*other),
                        shown(element, sum),
                        scene.threads
                    );
                    let failure = Failure::new(Stage::Right, said);
                    return Err(Box::new(Failure { idea: Some(case.task.idea.1), ..failure }));
                }
                Some(_) => {}
                None => first = Some((grid, bits, sum)),
            }
        }
    }
    Ok(())
}
