//! Checks that a kernel stays within its budgets.

use numbers::{Element, group};
use simt::Schedule;

use crate::case::{Case, Said};
use crate::cost::{
    ATOMICS, BARRIERS, Cost, DIVERGENT, INSTRUCTIONS, REQUESTS, SECTORS, SHARED, SHUFFLES,
};
use crate::held::once;
use crate::lesson::lesson;
use crate::scene::Scene;
use crate::task::{Budget, Shape};
use crate::verdict::{Failure, Stage};

/// Checks how the work is shared, and compares the counts of `float` launches with each budget.
pub(crate) fn budget(case: &Case) -> Said {
    if matches!(case.task.shape, Shape::Tiles { .. }) {
        lesson(case)?;
    }
    let (task, (n, grid)) = (case.task, case.task.measured);
    fenced(case)?;
    if task.budgets.is_empty() {
        return Ok("none".into());
    }
    let usual = task.blocks[0];
    let said = measured(case, case.scene(Element::F32, n, usual, grid), |_, most| Some(most))?;
    // Launches with other sizes, types and block sizes follow, so that a kernel that is cheap only
    // at the measured size is rejected.
    match task.shape {
        Shape::Tiles { each } => {
            let tiles = 2 + case.seed % 3;
            let n = tiles * each * u64::from(usual);
            let scene = case.scene(Element::F32, n, usual, tiles as u32);
            measured(case, scene, |_, most| Some(most * tiles))?;
            for (element, threads) in case.launches() {
                let scene = case.scene(element, each * u64::from(threads), threads, 1);
                measured(case, scene, |cost, most| {
                    Some(scaled(case, cost, most, element, threads))
                })?;
            }
        }
        _ => {
            let more = n + 4096 * (1 + case.seed % 4);
            measured(case, case.scene(Element::F32, more, usual, grid), |cost, most| {
                Some(if cost.grows { (most * more).div_ceil(n) + 8 } else { most })
            })?;
            // With fewer elements, the kernel must still load whole vectors.
            let less = 6000 + case.seed % 1000;
            measured(case, case.scene(Element::F32, less, usual, grid), |cost, most| {
                match cost.what {
                    what if [REQUESTS.what, SECTORS.what].contains(&what) => {
                        Some((most * less).div_ceil(n) + most / 8 + 8)
                    }
                    what => [SHUFFLES.what, BARRIERS.what].contains(&what).then_some(most),
                }
            })?;
            // With many more elements, a block still executes its tree once.
            if matches!(task.shape, Shape::Shares { .. }) {
                let scene = case.scene(Element::F32, (1 << 18) + 3, usual, 2);
                measured(case, scene, |cost, most| {
                    (cost.what == SHUFFLES.what || cost.what == BARRIERS.what && !task.copies)
                        .then_some(most)
                })?;
            }
            if task.shape.most().is_some() {
                let other = 6 + 2 * (case.seed % 5) as u32;
                measured(case, case.scene(Element::F32, n, usual, other), |cost, most| {
                    [REQUESTS.what, SECTORS.what]
                        .contains(&cost.what)
                        .then(|| most + most / 8 + 8 * u64::from(other))
                })?;
            }
            for (element, _) in case.launches() {
                let scene = case.scene(element, n, usual, grid);
                measured(case, scene, |cost, most| Some(scaled(case, cost, most, element, usual)))?;
            }
        }
    }
    Ok(said)
}

/// Returns a budget for `float` in blocks of the usual size, scaled to another type and size.
fn scaled(case: &Case, cost: &Cost, most: u64, element: Element, threads: u32) -> u64 {
    let usual = case.task.blocks[0];
    let is = |costs: &[Cost]| costs.iter().any(|other| other.what == cost.what);
    // The rounds within the last warp, which smaller blocks have too.
    let last = match () {
        () if threads > usual => 0,
        () if is(&[DIVERGENT]) => most,
        () if is(&[SHARED]) => 20.min(most * 2 / 3),
        () if is(&[INSTRUCTIONS]) => most / 3,
        () if is(&[SHUFFLES]) => 5.min(most),
        () => 0,
    };
    // Either every round has a barrier, or every round except those of the last warp.
    let rounds = |threads: u32, but: u32| f64::from(threads.ilog2().saturating_sub(but));
    let grows = (rounds(threads, 0) + 1.0) / (rounds(usual, 0) + 1.0);
    let grows = match threads > usual && is(&[BARRIERS]) {
        true => grows.max(rounds(threads, 5) / rounds(usual, 5)),
        false => grows,
    };
    let grows = if is(&[BARRIERS, SHARED, INSTRUCTIONS]) { grows } else { 1.0 };
    let scale = f64::from(threads) / f64::from(usual) * grows;
    // A `double` is twice as wide, and takes two shuffles or two messages.
    let mailbox = matches!(case.task.shape, Shape::Mailbox { .. });
    let wide = is(&[SHUFFLES, INSTRUCTIONS, REQUESTS, SECTORS]) || mailbox && is(&[ATOMICS]);
    let words = if wide { element.size().div_ceil(4) } else { 1 };
    let slack = if most == 0 { 0 } else { 2 + most / 16 };
    // Clang packs and unpacks the halves of a shuffled `double` with a quarter more instructions
    // than NVRTC does.
    let packing = if is(&[INSTRUCTIONS]) && element.size() == 8 { 1.25 } else { 1.0 };
    let one = last + ((most - last) as f64 * scale).ceil() as u64 + slack;
    ((one * words) as f64 * packing) as u64
}

/// Rejects a fence, or an atomic that orders other accesses, in an exercise whose messages need no
/// ordering.
fn fenced(case: &Case) -> Result<(), Box<Failure>> {
    if !matches!(case.task.shape, Shape::Mailbox { .. }) {
        return Ok(());
    }
    let scene = case.scene(Element::F32, 1, case.task.blocks[0], 1);
    let entry = scene.entry()?;
    let kernel = scene.module.kernel(&entry).expect("the entry was found");
    let orders = |text: &str| {
        ["membar", "fence", ".acq_rel", ".acquire", ".release"]
            .iter()
            .any(|word| text.contains(word))
    };
    let Some(pc) = (0..kernel.len() as u32).find(|pc| orders(kernel.text(*pc))) else {
        return Ok(());
    };
    let line = kernel.line(pc);
    let said = format!(
        "line {line} orders other accesses, by a fence or an atomic with acquire or release, but a message needs no such order: its value and its flag are one store"
    );
    let failure = Failure::new(Stage::Budget, said).at([line]);
    Err(Box::new(Failure { idea: Some(case.task.idea.1), ..failure }))
}

/// Counts the events of one launch, and compares the counts with the budgets. `most` scales a
/// budget to the launch, and returns `None` if the budget does not apply to the launch.
fn measured(case: &Case, scene: Scene<'_>, most: impl Fn(&Cost, u64) -> Option<u64>) -> Said {
    let task = case.task;
    let scene = Scene { schedule: Schedule::Converged, ..scene };
    let seen = once(&scene, case.seed)?;
    let launches = &seen.counters.launches;
    let mut said = Vec::new();
    for Budget { cost, most: budget, idea } in task.budgets {
        let Some(most) = most(cost, *budget) else { continue };
        let printing = launches.iter().flat_map(|launch| &launch.lines);
        let printing = printing.filter(|(line, _)| case.printing.contains(line));
        // Instructions that print do not count.
        let free: u64 = printing.map(|(_, counts)| (cost.of)(counts)).sum();
        let spent = (cost.of)(&seen.counters.total) - free;
        let line = format!("{} {} of at most {}", cost.what, group(spent), group(most));
        if spent <= most {
            said.push(line);
            continue;
        }
        let lines = launches.iter().flat_map(|launch| &launch.lines);
        let (dear, at) = dearest(lines.map(|(line, counts)| ((cost.of)(counts), *line)), |line| {
            case.own.get(line as usize - 1).is_some_and(|own| *own)
        });
        let whose = match at {
            0 => String::new(),
            _ => format!("; {} of them are on line {at}", group(dear)),
        };
        let failure = Failure::new(Stage::Budget, format!("{line}, for {}{whose}", scene.what()));
        let advice = if *idea { task.idea.1 } else { cost.advice };
        return Err(Box::new(Failure { idea: Some(advice), ..failure }.at([at])));
    }
    Ok(said.join("; "))
}

/// Returns the lines of a source that consist of a single call to `printf`, possibly after an `if`.
/// Their instructions are free. A line that also assigns a value or calls another function is
/// counted.
pub(crate) fn printing(source: &str) -> Vec<u32> {
    let only = |line: &str| {
        let Some((before, after)) = line.split_once("printf(") else { return false };
        let before = before.trim();
        let condition = before.is_empty() || before.starts_with("if (") && before.ends_with(')');
        // The arguments of the call, without the format string.
        let rest: String = after.split('"').step_by(2).collect();
        let Some(values) = rest.trim().strip_suffix(");") else { return false };
        let values = ["(float)", "(double)", "(int)"]
            .iter()
            .fold(values.to_owned(), |v, cast| v.replace(cast, ""));
        let tests =
            ["==", "<=", ">=", "!="].iter().fold(before.to_owned(), |t, op| t.replace(op, ""));
        let works = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
        condition
            && !works(&values, &["(", "=", ";", "++", "--"])
            && !works(&tests, &["=", ";", "++", "--", "{"])
    };
    (1..).zip(source.lines()).filter(|(_, line)| only(line.trim())).map(|(at, _)| at).collect()
}

/// Returns the highest count and its line; 0 if there is none. If any of the reader's own lines has
/// a nonzero count, only the reader's lines are considered.
fn dearest(lines: impl Iterator<Item = (u64, u32)>, own: impl Fn(u32) -> bool) -> (u64, u32) {
    lines
        .filter(|(spent, line)| *spent > 0 && *line > 0)
        .max_by_key(|(spent, line)| (own(*line), *spent, std::cmp::Reverse(*line)))
        .unwrap_or_default()
}

/// Marks the lines of a source that a correct solution does not contain, or contains less often,
/// because the kernel does not need them.
pub(crate) fn own(source: &str, reference: &str) -> Vec<bool> {
    let mut given: Vec<&str> = reference.lines().map(str::trim).collect();
    let is_own = |line: &str| match given.iter().position(|given| *given == line.trim()) {
        Some(at) => {
            given.swap_remove(at);
            false
        }
        None => true,
    };
    source.lines().map(is_own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_of_a_given_line_is_the_reader_s() {
        assert_eq!(own("a;\n  b;\na;\nc;", "b;\n  a;"), [false, false, true, true]);
        assert!(own("", "a;").is_empty());
    }

    #[test]
    fn a_line_that_only_prints_is_free_and_one_that_works_is_not() {
        let source = "printf(\"%d\\n\", tid);\nif (tid == 0) printf(\"= %f;\", shared[0]);
x = 1; printf(\"\");\nprintf(\"%f\", sum += in[i]);\nprintf(\"%f\", __shfl_down_sync(m, s, 1));\nf();";
        assert_eq!(printing(source), [1, 2]);
    }

    #[test]
    fn the_costliest_line_is_the_reader_s_if_any_of_them_costs() {
        let lines = [(9, 0), (8, 1), (2, 2), (2, 3), (0, 4)];
        let dearest = |own: &[u32]| dearest(lines.into_iter(), |line| own.contains(&line));
        assert_eq!(dearest(&[2, 3, 4]), (2, 2));
        assert_eq!(dearest(&[4]), (8, 1));
        assert_eq!(super::dearest([(9, 0)].into_iter(), |_| true), (0, 0));
    }
}
