//! Describes a film in words and as a table, for readers who cannot see it.

use predict::{Film, Gpu, Part, State};

/// The columns of the table.
pub const HEAD: [&str; 8] = [
    "cycles",
    "issue slots used",
    "warps wait for memory",
    "for arithmetic or their turn",
    "for shared memory, shuffles and barriers",
    "slots without a warp",
    "KiB in flight",
    "share of the bus used",
];

/// A row of the table: a part of the film.
pub type Row = [String; 8];

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn sum(part: &Part, states: &[State]) -> f64 {
    states.iter().map(|&state| part.states[state as usize]).sum()
}

const TURN: [State; 3] = [State::Ready, State::Math, State::Code];
const TOGETHER: [State; 3] = [State::Shared, State::Barrier, State::Atomic];

/// Returns the row for a part.
pub(crate) fn row(part: &Part) -> Row {
    let [from, to] = part.cycles;
    let of = |states: &[State]| percent(sum(part, states));
    [
        format!("{from} to {to}"),
        percent(part.issue),
        of(&[State::Memory]),
        of(&TURN),
        of(&TOGETHER),
        of(&[State::Empty]),
        format!("{:.1}", part.flight / 1024.0),
        percent(part.bus.min(1.0)),
    ]
}

/// Summarizes a film in words.
pub(crate) fn summary(whole: &Part, film: &Film, gpu: &Gpu) -> String {
    let us = f64::from(film.cycles) / gpu.mhz;
    let of = |states: &[State]| percent(sum(whole, states));
    format!(
        "In {} cycles ({us:.1} µs), the four schedulers issue in {} of their cycles. \
         Of the time of the {} warp slots, {} are waits for memory, {} waits for arithmetic or for the warp's turn, {} waits for shared memory, shuffles, atomics and barriers, and {} are without a warp. \
         On average, {:.1} KiB are in flight; {:.1} KiB arrive, which takes {} of the multiprocessor's share of the bus.",
        film.cycles,
        percent(whole.issue),
        gpu.limits.threads / 32,
        of(&[State::Memory]),
        of(&TURN),
        of(&TOGETHER),
        of(&[State::Empty]),
        whole.flight / 1024.0,
        film.bytes() / 1024.0,
        percent(whole.bus.min(1.0)),
    )
}
