//! Checks that a kernel stays within its budgets.

use numbers::{Element, group};
use simt::Schedule;

use crate::case::{Case, Said};
use crate::held::once;
use crate::lesson::lesson;
use crate::scene::Scene;
use crate::task::{Budget, Shape};
use crate::verdict::{Failure, Stage};

/// Checks how the work is shared, and compares the counts of launches in `float` with each budget.
pub(crate) fn budget(case: &Case) -> Said {
    if matches!(case.task.shape, Shape::Tiles { .. }) {
        lesson(case)?;
    }
    let (task, (n, grid)) = (case.task, case.task.measured);
    fenced(case)?;
    if task.budgets.is_empty() {
        return Ok("none".into());
    }
    let said = measured(case, n, grid, |most, _| most)?;
    // A launch of another size follows, so that no kernel is cheap at the measured size alone.
    match task.shape {
        Shape::Tiles { each } => {
            let tiles = 2 + case.seed % 3;
            let n = tiles * each * u64::from(task.blocks[0]);
            measured(case, n, tiles as u32, |most, _| most * tiles)?;
        }
        _ => {
            let more = n + 4096 * (1 + case.seed % 4);
            measured(
                case,
                more,
                grid,
                |most, grows| {
                    if grows { (most * more).div_ceil(n) + 8 } else { most }
                },
            )?;
        }
    }
    Ok(said)
}

/// A fence, or an atomic that orders other accesses, in an exercise whose messages need none.
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
        "line {line} orders other accesses, by a fence or an atomic with acquire or release, and a message needs no order: its value and its flag are one store"
    );
    let failure = Failure::new(Stage::Budget, said).at([line]);
    Err(Box::new(Failure { idea: Some(case.task.idea.1), ..failure }))
}

/// Counts one launch, and compares it with each budget. `most` scales a budget to the launch.
fn measured(case: &Case, n: u64, grid: u32, most: impl Fn(u64, bool) -> u64) -> Said {
    let task = case.task;
    let scene = case.scene(Element::F32, n, task.blocks[0], grid);
    let scene = Scene { schedule: Schedule::Converged, ..scene };
    let seen = once(&scene, case.seed)?;
    let launches = &seen.counters.launches;
    let mut said = Vec::new();
    for Budget { cost, most: budget, idea } in task.budgets {
        let most = most(*budget, cost.grows);
        let printing = launches.iter().flat_map(|launch| &launch.lines);
        let printing = printing.filter(|(line, _)| case.printing.contains(line));
        // The instructions that print are free.
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

/// Returns the lines of a source that consist of one call to `printf`, possibly after an `if`.
/// Their instructions are free. A line that also assigns a value or calls another function is
/// counted.
pub(crate) fn printing(source: &str) -> Vec<u32> {
    let only = |line: &str| {
        let Some((before, after)) = line.split_once("printf(") else { return false };
        let before = before.trim();
        let condition = before.is_empty() || before.starts_with("if (") && before.ends_with(')');
        // The arguments, without the text of the format.
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
/// a count, only those are considered.
fn dearest(lines: impl Iterator<Item = (u64, u32)>, own: impl Fn(u32) -> bool) -> (u64, u32) {
    lines
        .filter(|(spent, line)| *spent > 0 && *line > 0)
        .max_by_key(|(spent, line)| (own(*line), *spent, std::cmp::Reverse(*line)))
        .unwrap_or_default()
}

/// Marks the lines of a source that a correct solution does not have, or has less often: the kernel
/// does not need them.
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
