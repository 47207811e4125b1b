//! Compares the results of launches with the exact ones, and reports the findings of the checks.

use std::ops::Range;

use numbers::Element;

use crate::scene::{Left, Scene, Seen, blocks, elements};
use crate::task::{Operation, Shape};
use crate::values::{Draw, Values, shown};
use crate::verdict::{Failure, Stage};

/// Compares the results of one launch with the exact ones, because a counted run must be correct
/// too.
pub(crate) fn once(scene: &Scene<'_>, seed: u64) -> Result<Seen, Box<Failure>> {
    let values = Values::draw(scene.element, scene.n, seed, Draw::Signed);
    let seen = scene.run(std::slice::from_ref(&values))?;
    match wrong(scene, &seen.left[0], &values) {
        Some(failure) => Err(Box::new(failure)),
        None => Ok(seen),
    }
}

/// Compares the results of a launch, and of later launches over the same memory, with the exact
/// ones.
pub(crate) fn held(scene: &Scene<'_>, seed: u64) -> Result<Seen, Box<Failure>> {
    let draws: &[Draw] = match (scene.task.operation, scene.task.shape) {
        // At some sizes, launches with other grids follow.
        (Operation::Sum, Shape::Single { .. } | Shape::Mailbox { .. }) if scene.n % 32 == 1 => {
            &[Draw::Signed; 4]
        }
        (Operation::Sum, _) => &[Draw::Signed; 2],
        (Operation::Max, _) => {
            &[Draw::Signed, Draw::Negative, Draw::SomeNan, Draw::Special, Draw::Special]
        }
        // These inputs have no NaN, because a NaN in the sum would hide every other fault.
        (Operation::SumAndMax, _) => &[Draw::Signed, Draw::Negative],
    };
    let seeds = (0..).map(|launch| seed ^ (launch << 32) ^ scene.n);
    let inputs: Vec<Values> = (draws.iter().zip(seeds))
        .map(|(draw, seed)| Values::draw(scene.element, scene.n, seed, *draw))
        .collect();
    let grids = grids(scene, inputs.len());
    let seen = scene.run_on(&inputs, &grids)?;
    if let Some(finding) = seen.findings.iter().find(|finding| !finding.is_harmless()) {
        if finding.launch > 1 {
            left_behind(scene, &seen, &grids)?;
            if let Some(state) = seen.state.first() {
                let launch = finding.launch as usize - 1;
                let here = Scene { grid: grids[launch.min(grids.len() - 1)], ..*scene };
                let said = format!(
                    "{}: a later launch over the same memory fails: {}",
                    here.what(),
                    state.sentence()
                );
                let lines = state.sites.iter().map(|site| site.line);
                return Err(Box::new(Failure::new(Stage::Right, said).at(lines)));
            }
        }
        let launch = (finding.launch as usize).clamp(1, grids.len()) - 1;
        let here = Scene { grid: grids[launch], ..*scene };
        let mut said = format!("{}: {}", here.what(), finding.sentence());
        if said.contains("at the same line") && said.ends_with("is missing between them") {
            said += ", or two threads use the same element in one round";
        }
        if !scene.task.warps {
            said = said.replace("a `__syncwarp()` is missing", "a `__syncthreads()` is missing");
        }
        let lines = finding.sites.iter().map(|site| site.line);
        return Err(Box::new(Failure::new(Stage::Clean, said).at(lines)));
    }
    for (launch, (left, values)) in seen.left.iter().zip(&inputs).enumerate() {
        let here = Scene { grid: grids[launch], ..*scene };
        if let Some(mut failure) = wrong(&here, left, values) {
            if launch > 0 && draws[launch] == draws[0] {
                let before = match grids[launch] == grids[launch - 1] {
                    true => String::new(),
                    false => format!(" in {}", blocks(grids[launch - 1])),
                };
                failure.said = format!(
                    "{}, although the previous launch over the same memory{before} was correct{}",
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
    left_behind(scene, &seen, &grids)?;
    Ok(seen)
}

/// Checks that every launch leaves the ticket counter at 0, and all flags cleared.
fn left_behind(scene: &Scene<'_>, seen: &Seen, grids: &[u32]) -> Result<(), Box<Failure>> {
    let mailbox = seen.left.iter().zip(grids).find_map(|(left, grid)| Some((left.flag?, *grid)));
    if let Some((slot, grid)) = mailbox {
        let said = format!(
            "{}: the kernel leaves the flag of `slots[{slot}]` set, and the next launch would mistake that value for a new one: clear each flag when you consume the value",
            Scene { grid, ..*scene }.what()
        );
        return Err(Box::new(Failure::new(Stage::Right, said)));
    }
    let Some(at) = seen.left.iter().position(|left| left.tickets != 0) else { return Ok(()) };
    // A counter that is smaller than the grid has lost an update.
    let lost = seen.left[at].tickets < grids[at];
    let ticket = seen.partials.as_ref().map(|(_, ticket)| *ticket).filter(|_| !lost);
    let cure = seen.state.iter().find(|finding| Some(finding.address) == ticket).map_or(
        "read and change it in one atomic, and let the last block reset it, as `atomicInc` with the limit gridDim.x - 1 does",
        |finding| finding.cure.as_str(),
    );
    let said = format!(
        "{}: the kernel leaves `tickets[0]` at {}, and the next launch needs 0: {cure}",
        Scene { grid: grids[at], ..*scene }.what(),
        seen.left[at].tickets
    );
    Err(Box::new(Failure::new(Stage::Right, said)))
}

/// Returns the grids of consecutive launches. If the host chooses the grid, the same grid is
/// launched twice, and then other grids follow.
fn grids(scene: &Scene<'_>, launches: usize) -> Vec<u32> {
    let (Shape::Single { grids, .. } | Shape::Mailbox { grids, .. }) = scene.task.shape else {
        return vec![scene.grid; launches];
    };
    let mut others = grids.iter().cycle().skip_while(|grid| **grid != scene.grid).skip(1);
    let mut next = || others.next().copied().unwrap_or(scene.grid);
    let mut all = vec![scene.grid; launches.min(2)];
    // If the first grid is the largest grid, which is not in the list, the grids in the list
    // follow.
    while all.len() < launches {
        all.push(if grids.contains(&scene.grid) { next() } else { grids[all.len() % grids.len()] });
    }
    all
}

/// Returns whether a launch wrote all its results. If such a kernel is wrong, it lacks the idea of
/// the exercise, not a line of code.
fn written(left: &Left) -> bool {
    left.unwritten.iter().flatten().all(|unwritten| !unwritten)
}

/// Returns a failure for the first wrong result of a launch.
pub(crate) fn wrong(scene: &Scene<'_>, left: &Left, values: &Values) -> Option<Failure> {
    let (task, element) = (scene.task, scene.element);
    let failure = |said: String| Some(Failure::new(Stage::Right, said));
    if let Some(at) = left.changed {
        return failure(format!(
            "{}: the kernel changed its input, first at `in[{at}]`: write to `out` and to shared memory only",
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
            let never = if task.shape.by_block() { "never wrote" } else { "wrote" };
            // A ticket counter that wraps is 0 after the launch, unless blocks took the same ticket.
            let twice = match left.tickets {
                0 => String::new(),
                tickets => format!(
                    ", and `tickets[0]` is {tickets} at the end: if two blocks read it before either of them writes it, both take the same ticket; read and change it in one atomic, such as `atomicInc`"
                ),
            };
            return failure(format!("{}: {place} {never} its {name}{twice}", scene.what()));
        }
        // If the blocks may divide the elements in any way, only the sum over all blocks is
        // checked.
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
                    format!("the blocks' {name}s add up to {}", shown(element, *given))
                }
                _ => format!("the {name} is {}", shown(element, *given)),
            };
            let looks = match name {
                "sum" => explained(scene, values, (which, at), *given)
                    .map_or(String::new(), |l| format!(": {l}")),
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

/// Describes the likely cause of a wrong sum, if there is exactly one likely cause and it also
/// explains the sum of other elements.
fn explained(
    scene: &Scene<'_>,
    values: &Values,
    (which, at): (usize, usize),
    given: f64,
) -> Option<String> {
    let range = held_by(scene, at);
    let causes = values.looks(range.clone(), given);
    if causes.iter().all(Vec::is_empty) {
        return None;
    }
    let others = Values::draw(scene.element, scene.n, given.to_bits(), Draw::Signed);
    let again = Scene { watched: false, traced: false, ..*scene };
    let results = again.run(std::slice::from_ref(&others)).ok()?.left.remove(0).results;
    let given = match scene.task.shape {
        Shape::Shares { .. } => added(scene.element, &results[which]),
        _ => results[which][at],
    };
    let others = others.looks(range, given);
    causes.into_iter().zip(others).find_map(|(mut causes, others)| {
        causes.retain(|cause| others.contains(cause));
        (causes.len() == 1).then(|| causes.remove(0))
    })
}

/// Adds partial sums in their own type; all additions are exact.
fn added(element: Element, sums: &[f64]) -> f64 {
    match element {
        Element::I32 => f64::from(sums.iter().fold(0i32, |sum, s| sum.wrapping_add(*s as i32))),
        _ => sums.iter().sum(),
    }
}

/// Returns the results of a launch, or their total if the host adds them.
pub(crate) fn totals(scene: &Scene<'_>, results: &[f64]) -> Vec<f64> {
    match scene.task.shape {
        Shape::Shares { .. } => vec![results.iter().sum()],
        _ => results.to_vec(),
    }
}

/// Returns the range of elements that a result covers.
pub(crate) fn held_by(scene: &Scene<'_>, at: usize) -> Range<usize> {
    let n = scene.n as usize;
    match scene.task.shape {
        Shape::Tiles { each } => {
            let tile = each as usize * scene.threads as usize;
            (at * tile).min(n)..((at + 1) * tile).min(n)
        }
        _ => 0..n,
    }
}
