//! Remembers the last load that returned an older value, as the likely cause of a wrong result.

use rustc_hash::FxHashMap;

use crate::flags::Use;
use crate::inst::Op;
use crate::model::Order;
use crate::observer::At;

/// The last load that returned an older value.
#[derive(Debug, Clone, Default)]
pub(super) struct Older {
    /// For each such load, whether a loop repeats it until it returns another value.
    polls: FxHashMap<u32, bool>,
    said: Option<String>,
}

impl Older {
    /// Describes the last load of the launches so far, and the remedy.
    pub(super) fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    pub(super) fn begin(&mut self) {
        self.polls.clear();
    }

    pub(super) fn merge(&mut self, later: Older) {
        self.said = later.said.or(self.said.take());
    }

    /// Records a load. An older value only delays a loop that polls, so it explains nothing.
    pub(super) fn add(&mut self, at: &At<'_>, place: &str) {
        let insts = &at.kernel.insts;
        let polls = || Use::of(insts, at.pc as usize).polls;
        if *self.polls.entry(at.pc).or_insert_with(polls) {
            return;
        }
        let how = match &insts[at.pc as usize].op {
            Op::Load { memory, .. } if memory.order == Order::Volatile => "volatile",
            _ => "relaxed",
        };
        self.said = Some(format!(
            "the {how} load at {} returned an older value of {place}, which PTX allows because no \
             fence or acquire orders the load after the flag or ticket that shows that the value \
             is complete: put a `__threadfence()` between them, or read the flag or ticket with \
             `.acquire`",
            at.kernel.place(at.pc)
        ));
    }
}
