//! Checks that bulk copies are in flight while a block adds.

use std::ops::Range;

use simt::observe::BlockTrace;

use crate::scene::{Scene, Seen};

/// A copy to shared memory.
struct Stage {
    /// The bytes in shared memory.
    at: Range<u64>,
    /// The number of the event at which the copy begins.
    begin: usize,
    /// The number and the line of the last load from the copied bytes.
    read: Option<(usize, u32)>,
}

/// Returns the message and the line for a kernel whose copies are not those that the exercise
/// requires.
pub(super) fn copies(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    if !scene.task.copies {
        return None;
    }
    seen.traced.iter().find_map(|block| by_lanes(block).or_else(|| alone(block)))
}

/// Finds copies that each lane issues on its own. Returns the message and the line.
fn by_lanes(block: &BlockTrace) -> Option<(String, u32)> {
    let mut events = block.rounds.iter().flat_map(|round| &round.events);
    let copy = events.find(|event| event.what == "async copy")?;
    let said = "each thread issues copies of its own (`cp.async`): let one thread request a whole stage by a bulk copy";
    Some((said.into(), copy.line))
}

/// Returns a failure if, for more than one stage in four, no other copy is underway when the
/// stage's last value is read. The block's last stage does not count.
fn alone(block: &BlockTrace) -> Option<(String, u32)> {
    let mut stages: Vec<Stage> = Vec::new();
    let events = block.rounds.iter().flat_map(|round| &round.events);
    for (time, event) in events.enumerate() {
        match (event.what, event.space) {
            ("copy", _) => {
                let at = event.addresses[0];
                let at = at..at + u64::from(event.bytes);
                stages.push(Stage { at, begin: time, read: None });
            }
            ("load", "shared") => {
                // A load from an address reads the latest copy to that address.
                let of =
                    |stage: &&mut Stage| event.addresses.iter().any(|at| stage.at.contains(at));
                if let Some(stage) = stages.iter_mut().rev().find(of) {
                    stage.read = Some((time, event.line));
                }
            }
            _ => {}
        }
    }
    let read: Vec<(usize, usize, u32)> =
        stages.iter().filter_map(|s| s.read.map(|(end, line)| (s.begin, end, line))).collect();
    let is_alone = |end: usize| !read.iter().any(|(b, e, _)| *b < end && *e > end);
    let alone: Vec<u32> =
        read.iter().filter(|(_, end, _)| is_alone(*end)).map(|(.., line)| *line).collect();
    // While the block adds the last stage, no copies are left.
    let before = alone.len().max(1) - 1;
    (4 * before > read.len()).then(|| {
        let said = format!(
            "block {} adds {} stages, and while it adds {} of them no other copy is in flight: request the next stage before you wait for this one",
            block.block,
            read.len(),
            alone.len()
        );
        (said, alone[0])
    })
}
