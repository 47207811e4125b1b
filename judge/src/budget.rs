//! Whether a kernel spends no more than it may.

use numbers::{Element, group};
use simt::Schedule;

use crate::case::{Case, Said};
use crate::right::once;
use crate::scene::Scene;
use crate::task::Budget;
use crate::verdict::{Failure, Stage};

/// Counts one launch, in `float`, and holds it against each budget.
pub(crate) fn budget(case: &Case) -> Said {
    let (task, (n, grid)) = (case.task, case.task.measured);
    if task.budgets.is_empty() {
        return Ok("none".into());
    }
    let scene = case.scene(Element::F32, n, task.blocks[0], grid);
    let scene = Scene { schedule: Schedule::Converged, ..scene };
    let seen = once(&scene, case.seed)?;
    let mut said = Vec::new();
    for Budget { cost, most, idea } in task.budgets {
        let spent = (cost.of)(&seen.counters.total);
        let line = format!("{} {} of at most {}", cost.what, group(spent), group(*most));
        if spent <= *most {
            said.push(line);
            continue;
        }
        let lines = seen.counters.launches.iter().flat_map(|launch| &launch.lines);
        let (most, at) = dearest(lines.map(|(line, counts)| ((cost.of)(counts), *line)), |line| {
            case.own.get(line as usize - 1).is_some_and(|own| *own)
        });
        let whose = match at {
            0 => String::new(),
            _ => format!("; {} of them are of line {at}", group(most)),
        };
        let failure = Failure::new(Stage::Budget, format!("{line}, on {}{whose}", scene.what()));
        let advice = if *idea { task.idea.1 } else { cost.advice };
        return Err(Box::new(Failure { idea: Some(advice), ..failure }.at([at])));
    }
    Ok(said.join("; "))
}

/// The line that spends most, of the reader's own where one of them spends anything; 0 for none.
fn dearest(lines: impl Iterator<Item = (u64, u32)>, own: impl Fn(u32) -> bool) -> (u64, u32) {
    lines
        .filter(|(spent, line)| *spent > 0 && *line > 0)
        .max_by_key(|(spent, line)| (own(*line), *spent, std::cmp::Reverse(*line)))
        .unwrap_or_default()
}

/// Which lines of a source do not stand in a right solution, each as often as it stands there: those it
/// can do without.
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
    fn the_second_of_a_line_that_is_given_once_is_the_reader_s() {
        assert_eq!(own("a;\n  b;\na;\nc;", "b;\n  a;"), [false, false, true, true]);
        assert!(own("", "a;").is_empty());
    }

    #[test]
    fn the_dearest_line_is_the_reader_s_where_she_spends_anything() {
        let lines = [(9, 0), (8, 1), (2, 2), (2, 3), (0, 4)];
        let dearest = |own: &[u32]| dearest(lines.into_iter(), |line| own.contains(&line));
        assert_eq!(dearest(&[2, 3, 4]), (2, 2));
        assert_eq!(dearest(&[4]), (8, 1));
        assert_eq!(super::dearest([(9, 0)].into_iter(), |_| true), (0, 0));
    }
}
