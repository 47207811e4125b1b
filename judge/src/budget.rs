//! Whether a kernel spends no more than it may.

use numbers::{Element, group};
use simt::Schedule;

use crate::case::{Case, Said};
use crate::right::once;
use crate::scene::Scene;
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
    for budget in task.budgets {
        let spent = (budget.of)(&seen.counters.total);
        let line = format!("{} {} of at most {}", budget.what, group(spent), group(budget.most));
        if spent <= budget.most {
            said.push(line);
            continue;
        }
        let lines = seen.counters.launches.iter().flat_map(|launch| &launch.lines);
        let worst = lines
            .map(|(line, counts)| ((budget.of)(counts), *line))
            .filter(|(_, line)| *line > 0)
            .max_by_key(|(count, line)| (*count, std::cmp::Reverse(*line)));
        let (most, at) = worst.unwrap_or_default();
        let whose = match at {
            0 => String::new(),
            _ => format!("; {} of them are of line {at}", group(most)),
        };
        let failure = Failure::new(Stage::Budget, format!("{line}, on {}{whose}", scene.what()));
        return Err(Box::new(Failure { idea: Some(task.idea.1), ..failure }.at([at])));
    }
    Ok(said.join("; "))
}
