//! Checks that each block stores a partial sum and takes a ticket.

use simt::observe::{BlockTrace, TraceEvent};

use crate::scene::{Scene, Seen};

/// Finds a block that takes no ticket, or that loads elements and stores no partial sum. Returns the
/// message, and 0 for no line.
pub(super) fn tickets(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    let (partials, ticket) = seen.partials.as_ref()?;
    // If the order of the additions is fixed, a chunk is a unit of work, not a block.
    if scene.grid == 1 || scene.task.same_bits {
        return None;
    }
    let events = |block: &'_ BlockTrace, is: &dyn Fn(&TraceEvent) -> bool| {
        block.rounds.iter().flat_map(|round| &round.events).any(is)
    };
    seen.traced.iter().find_map(|block| {
        let takes = |e: &TraceEvent| e.addresses.contains(ticket);
        if !events(block, &takes) {
            let said = format!(
                "block {} takes no ticket: in every launch, each block takes one, and the block with the last ticket adds the partial sums",
                block.block
            );
            return Some((said, 0));
        }
        let loads = |e: &TraceEvent| {
            (e.what, e.space) == ("load", "global")
                && e.addresses.iter().any(|at| seen.input.contains(at))
        };
        let stores = |e: &TraceEvent| {
            matches!(e.what, "store" | "atomic") && e.addresses.iter().any(|at| partials.contains(at))
        };
        (events(block, &loads) && !events(block, &stores)).then(|| {
            let said = format!(
                "block {} loads elements, but stores no partial sum: each block stores its sum in `partials`",
                block.block
            );
            (said, 0)
        })
    })
}
