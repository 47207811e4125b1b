//! Describes a film in words and as a table, for readers who cannot see it.

use predict::{Film, Gpu, Part, State};

/// The columns of the table.
pub const HEAD: [&str; 10] = [
    "cycles",
    "schedulers’ cycles that issue",
    "slots’ time: issuing",
    "waiting for memory",
    "for arithmetic or their turn",
    "for shared memory, shuffles, atomics, barriers",
    "without a warp",
    "KiB in flight",
    "KiB over the bus",
    "share of the bus",
];

/// A row of the table: a part of the film.
pub type Row = [String; HEAD.len()];

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
        of(&[State::Issue]),
        of(&[State::Memory]),
        of(&TURN),
        of(&TOGETHER),
        of(&[State::Empty]),
        format!("{:.1}", part.flight / 1024.0),
        format!("{:.1}", part.bytes / 1024.0),
        percent(part.bus),
    ]
}

/// Describes the blocks.
pub(crate) fn blocks(film: &Film, threads: u32) -> String {
    let (fit, by) = film.fits;
    let why = match film.resident {
        most if u64::from(most) == film.blocks => ", all blocks that the launch has for it",
        most if most < fit => ", because blocks start one after another",
        _ => "",
    };
    format!(
        "blocks of {threads} threads; {fit} fit on the multiprocessor (limit: {by}), and at most {} are on it at a time{why}",
        film.resident
    )
}

/// Summarizes a film in words.
pub(crate) fn summary(whole: &Part, film: &Film, gpu: &Gpu) -> String {
    let us = f64::from(film.cycles) / gpu.mhz;
    let of = |states: &[State]| percent(sum(whole, states));
    let starts = if film.blocks > u64::from(film.fits.0) {
        format!(
            " A block starts at least {:.0} cycles after the block before it, and at least {:.0} cycles after the end of the block that it replaces.",
            gpu.block, gpu.replace
        )
    } else {
        String::new()
    };
    format!(
        "In {} cycles ({us:.1} µs), the four schedulers issue in {} of their cycles. \
         The time of the {} warp slots is {} issuing, {} waiting for memory, {} waiting for arithmetic or for the warp's turn, {} waiting for shared memory, shuffles, atomics and barriers, and {} without a warp.{starts} \
         On average, {:.1} KiB are in flight, that is, requested but not yet usable. \
         A load takes {:.0} cycles, in which the bus can transfer {:.1} KiB; on an idle memory, it takes {:.0} cycles, in which the bus can transfer {:.1} KiB. \
         The bus transfers {:.1} KiB, {} of what it can transfer for one of {} multiprocessors at the bandwidth that probes reach, which is below the peak in the data sheet.",
        film.cycles,
        percent(whole.issue),
        gpu.limits.threads / 32,
        of(&[State::Issue]),
        of(&[State::Memory]),
        of(&TURN),
        of(&TOGETHER),
        of(&[State::Empty]),
        whole.flight / 1024.0,
        film.wait(),
        film.rate * film.wait() / 1024.0,
        gpu.load[0][1],
        film.fills(gpu) / 1024.0,
        whole.bytes / 1024.0,
        percent(whole.bus),
        gpu.sms,
    )
}
