//! Checks which elements of shared memory the lanes use.

use std::collections::BTreeSet;

use crate::cost::CONFLICTS;
use crate::scene::{Scene, Seen};
use crate::task::Shape;

/// In an exercise about bank conflicts, finds a warp whose lanes read elements that are not
/// neighbours. Returns the message and the line.
pub(super) fn apart(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    let is_idea = scene.task.budgets.iter().any(|b| b.idea && b.cost.what == CONFLICTS.what);
    if !is_idea {
        return None;
    }
    let rounds = seen.traced.iter().flat_map(|block| &block.rounds);
    let mut events = rounds.flat_map(|round| &round.events);
    // The budget for conflicts gives its own advice.
    if events.clone().any(|event| event.conflicts > 0) {
        return None;
    }
    events.find_map(|event| {
        if event.what != "load" || event.space != "shared" || event.lanes.len() < 32 {
            return None;
        }
        let first = event.addresses.iter().min()?;
        let span = event.addresses.iter().max()? - first + u64::from(event.bytes);
        let neighbours = span == 32 * u64::from(event.bytes) || span == u64::from(event.bytes);
        (!neighbours).then(|| {
            let said = format!(
                "the 32 lanes of warp {} read elements of shared memory that are spread over {} elements: in each access, an active warp reads 32 neighbouring elements",
                event.warp,
                span / scene.element.size()
            );
            (said, event.line)
        })
    })
}

/// In an exercise with two elements per thread, finds a thread that reads back what it has just
/// stored in shared memory. Returns the message and the line.
pub(super) fn read_back(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    if !matches!(scene.task.shape, Shape::Tiles { each: 2 }) {
        return None;
    }
    seen.traced.iter().find_map(|block| {
        // The threads and addresses of the stores before the first barrier.
        let mut stored: BTreeSet<(u32, u64)> = BTreeSet::new();
        block.rounds.first()?.events.iter().find_map(|event| {
            let of = |at: usize| (32 * event.warp + event.lanes[at], event.addresses[at]);
            match (event.what, event.space) {
                ("store", "shared") => stored.extend((0..event.lanes.len()).map(of)),
                ("load", "shared") => {
                    let (thread, _) =
                        (0..event.lanes.len()).map(of).find(|one| stored.contains(one))?;
                    let said = format!(
                        "thread {thread} of block {} reads back from shared memory the value that it has just stored: add a thread's elements in a register, and store their sum once",
                        block.block
                    );
                    return Some((said, event.line));
                }
                ("warp barrier" | "shuffle", _) => {
                    stored.retain(|(thread, _)| thread / 32 != event.warp);
                }
                _ => {}
            }
            None
        })
    })
}
