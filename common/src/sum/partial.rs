//! A wrong partial sum, and the elements that it holds.

use std::{fmt, ops::Range};

use super::verdict::Verdict;
use crate::plan::{Buffer, Plan, Stage};

/// A partial sum that differs from the sum of its elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrongPartial {
    /// The number of the launch that wrote the sum, counting from 1.
    pub launch: usize,
    /// The index of the sum among the launch's partial sums.
    pub index: u64,
    /// Whether the partial sum is the only one that its block computes.
    pub of_block: bool,
    /// Whether the sum is the result.
    pub is_result: bool,
    /// Whether the sum holds partial sums of an earlier stage, which the next three fields then
    /// count.
    pub of_sums: bool,
    /// The index of the first element that the sum holds.
    pub first: u64,
    /// The index of the last element that the sum holds.
    pub last: u64,
    /// The number of elements that the sum holds. The elements need not be contiguous.
    pub count: u64,
    /// The verdict, with the value and the expected value.
    pub verdict: Verdict,
    /// Whether all sums of the stage are within [`NEAR`](super::NEAR) times of what their own rounding
    /// explains.
    pub near: bool,
    /// Whether the sum was never written, so that it still has the value from before the run.
    pub unwritten: bool,
    /// The buffer that should contain the sum.
    pub sums: Buffer,
    /// Whether the sum is in a message slot.
    pub mail: bool,
    /// Whether the buffer still contains what the previous run left there.
    pub old: bool,
}

impl WrongPartial {
    /// Describes sum number `index` of a plan's stage. The launch has a number, counting from 1, and
    /// the stage adds `n` elements or, if it is not the plan's first stage, partial sums.
    pub(crate) fn of(
        plan: &Plan,
        (number, stage, n): (usize, &Stage, u64),
        index: u64,
        verdict: Verdict,
        unwritten: bool,
    ) -> WrongPartial {
        let launch = &plan.launches[number - 1];
        let ranges: Vec<Range<u64>> = stage.holds.ranges(n, index).collect();
        WrongPartial {
            launch: number,
            index,
            of_block: stage.holds.count() == u64::from(launch.grid),
            is_result: stage.sums == Buffer::Result,
            of_sums: number > 1 || launch.stages.first() != Some(stage),
            first: ranges.first().map_or(0, |range| range.start),
            last: ranges.last().map_or(0, |range| range.end - 1),
            count: ranges.iter().map(|range| range.end - range.start).sum(),
            verdict,
            near: false,
            unwritten,
            sums: stage.sums,
            mail: plan.has_messages(stage.sums),
            old: false,
        }
    }
}

impl fmt::Display for WrongPartial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WrongPartial { launch, index, first, last, count, verdict, .. } = *self;
        match (self.of_block, self.is_result) {
            (true, _) => write!(f, "block {index} of launch {launch}, which adds ")?,
            (false, true) => write!(f, "the final sum of launch {launch}, which adds ")?,
            (false, false) if self.mail && !self.unwritten => {
                write!(f, "a block of launch {launch}, which adds ")?
            }
            (false, false) => write!(f, "partial sum {index} of launch {launch}, which adds ")?,
        }
        let one = if self.of_sums { "partial sum" } else { "element" };
        match (count, last - first + 1) {
            (0, _) => write!(f, "no {one}")?,
            (1, _) => write!(f, "{one} {first}")?,
            (count, span) if count == span => write!(f, "the {one}s {first} to {last}")?,
            (count, _) => write!(f, "{count} of the {one}s from {first} to {last}")?,
        }
        if self.unwritten {
            return f.write_str(match (self.of_block, self.is_result) {
                (true, true) => ", never wrote its sum, or wrote a value that was never set",
                (true, false) => ", never wrote its partial sum",
                (false, _) => ", was never written by any block",
            });
        }
        let Verdict { sum, expected, error, bound, .. } = verdict;
        // Another block may have stored the value, so only its place is known.
        let (to, is) = if self.mail { ("in slot", "holds") } else { ("as partial sum", "is") };
        let which = match sum.as_f64() == 0.0 {
            _ if self.old => format!("which still {is} {sum} from the run before"),
            true if self.mail => "which holds 0, so it was cleared or never written".into(),
            _ => format!("which {is} {sum}"),
        };
        match (self.is_result, self.of_block || self.mail) {
            (true, _) => write!(f, ", gave {sum} instead of {expected}")?,
            (false, true) => write!(f, ", should store {expected} {to} {index}, {which}")?,
            (false, false) if self.old => {
                write!(f, ", still is {sum} from the run before instead of {expected}")?
            }
            (false, false) => write!(f, ", is {sum} instead of {expected}")?,
        }
        if error.is_nan() || self.old {
            return Ok(());
        }
        if let Some(rounded) = verdict.rounds_to() {
            return write!(f, "; the exact sum rounds to {rounded}");
        }
        write!(f, " (off by {}", about(error))?;
        // If the exact sum is rounded once, only one value is right, whatever the distance.
        match verdict.rounded.is_some() || bound == 0.0 {
            true => f.write_str(")"),
            false => write!(f, ", but rounding explains at most {bound:.1e})"),
        }
    }
}

/// Formats a distance: all digits if it is an integer, otherwise three digits.
pub(super) fn about(distance: f64) -> String {
    if distance.fract() == 0.0 && distance < 1e15 {
        return distance.to_string();
    }
    if (0.01..1e6).contains(&distance) {
        format!("{distance:.3}")
    } else {
        format!("{distance:.2e}")
    }
}
