//! The caveats on a run's page.

use super::Width;
use crate::{
    Clock, Place, Run,
    table::{Table, size},
};

/// The smallest effect of the competitors' order that is listed, as a fraction of the time.
const ORDER: f64 = 0.02;

/// Lists the cells in which the order of the competitors changes a time.
pub(super) fn order(run: &Run) -> String {
    let mut table = Table::new(["variant", "where", "slower in one order by"]);
    for cell in &run.cells {
        let place =
            Place { element: &cell.element, n: cell.n, cache: cell.cache, clock: Clock::Gpu };
        for variant in &run.env.variant {
            let effect = run.order_effect(&variant.name, &place).filter(|effect| *effect > ORDER);
            if let Some(effect) = effect {
                let at = format!("{} {}, {}", size(cell.n), cell.element, cell.cache);
                table.row([variant.name.clone(), at, format!("{:.1} %", 100.0 * effect)]);
            }
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "## Effects of the order\n\nEvery sample follows untimed runs of the same variant, and every ratio uses a round and the next one, which runs in reverse order. \
         The times below still differ by more than {} % between the two orders, because the preceding kernel left the GPU in a different state.\n\n{table}\n",
        100.0 * ORDER
    )
}

/// Lists the variants that were not measured.
pub(super) fn gaps(run: &Run) -> String {
    if run.env.absent.is_empty() {
        return String::new();
    }
    let mut table = Table::of_words(["not measured", "where", "why"]);
    for absent in &run.env.absent {
        let element = if absent.element.is_empty() { "all types" } else { &absent.element };
        let n = if absent.n == 0 { "all sizes".into() } else { size(absent.n) };
        table.row([&absent.variant, &format!("{element}, {n}"), &absent.reason]);
    }
    format!("## Not measured\n\n{table}\n")
}

/// Lists the cells that did not converge.
pub(super) fn unsettled(run: &Run) -> String {
    let mut table =
        Table::new(["not converged", "rounds", "discarded", "widest interval", "of", "why"]);
    for cell in run.cells.iter().filter(|cell| !cell.converged) {
        let place =
            Place { element: &cell.element, n: cell.n, cache: cell.cache, clock: Clock::Gpu };
        let names = cell.pair.split(" / ");
        let times = names.filter_map(|name| run.time(name, &place).map(|time| time.median));
        let shorter = times.fold(f64::INFINITY, f64::min);
        let why = match Width::of(cell.widest, shorter, 0.0, run.tick) {
            Width::Tick => {
                format!("{:.0} ns, within the tick of {} ns", cell.widest * shorter, run.tick)
            }
            Width::Narrow | Width::Noise => "noise".to_owned(),
        };
        table.row([
            format!("{} {}, {}", size(cell.n), cell.element, cell.cache),
            cell.rounds.to_string(),
            cell.rejected.to_string(),
            format!("{:.1} %", 100.0 * cell.widest),
            cell.pair.clone(),
            why,
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "## Did not converge\n\nThe limit on rounds or time was reached before the interval of every paired ratio was narrower than {} %.\n\n{table}\n",
        100.0 * run.env.method.target
    )
}
