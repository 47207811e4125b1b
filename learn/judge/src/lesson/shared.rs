//! Checks which elements of shared memory the lanes use.

use std::collections::{BTreeMap, BTreeSet};

use simt::observe::BlockTrace;

use crate::cost::{CONFLICTS, DIVERGENT};
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
        if event.what != "load" || event.space != "shared" || event.lanes.len() < 2 {
            return None;
        }
        let first = event.addresses.iter().min()?;
        let span = event.addresses.iter().max()? - first + u64::from(event.bytes);
        let bytes = u64::from(event.bytes);
        let neighbours = span == event.lanes.len() as u64 * bytes || span == bytes;
        (!neighbours).then(|| {
            let said = format!(
                "{} lanes of warp {} read elements of shared memory that are spread over {} elements: in each access, the lanes of a warp read neighbouring elements",
                event.lanes.len(),
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

/// In an exercise with two elements per thread, finds a thread that loads an element after it has
/// stored a value in shared memory. Returns the message and the line.
pub(super) fn added_late(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    let is_two = matches!(scene.task.shape, Shape::Tiles { each: 2 });
    seen.traced.iter().filter(|_| is_two).find_map(|block| late_in(seen, block))
}

fn late_in(seen: &Seen, block: &BlockTrace) -> Option<(String, u32)> {
    let mut stored = BTreeSet::new();
    block.rounds.iter().flat_map(|round| &round.events).find_map(|event| {
        let mut threads = event.lanes.iter().map(|lane| 32 * event.warp + lane);
        match (event.what, event.space) {
            ("store", "shared") => stored.extend(threads),
            ("load", "global") if event.addresses.iter().all(|at| seen.input.contains(at)) => {
                let thread = threads.find(|thread| stored.contains(thread))?;
                let said = format!(
                    "thread {thread} of block {} loads an element after it has stored a value in shared memory: load both elements first, and add them in a register",
                    block.block
                );
                return Some((said, event.line));
            }
            _ => {}
        }
        None
    })
}

/// The maximum number of values in shared memory that several warps may read, such as one value for
/// each warp.
const SEVERAL: usize = 32;

/// Finds a block in which three warps read the same values from shared memory, so that each of them
/// does the same work. Returns the message and the line.
pub(super) fn repeated(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    if !matches!(scene.task.shape, Shape::Tiles { .. }) {
        return None;
    }
    let rounds = seen.traced.iter().flat_map(|block| block.rounds.iter().map(move |r| (block, r)));
    rounds.into_iter().find_map(|(block, round)| {
        // The warps that have read each value since the last barrier, one bit per warp.
        let mut readers: BTreeMap<u64, u32> = BTreeMap::new();
        let mut repeated = BTreeSet::new();
        round.events.iter().filter(|event| event.space == "shared").find_map(|event| {
            for address in &event.addresses {
                match event.what {
                    "store" => _ = readers.remove(address),
                    "load" => {
                        let warps = readers.entry(*address).or_default();
                        *warps |= 1 << (event.warp & 31);
                        if warps.count_ones() > 2 {
                            repeated.insert(*address);
                        }
                    }
                    _ => {}
                }
            }
            (repeated.len() > SEVERAL).then(|| {
                let said = format!(
                    "three warps of block {} read the same {} values from shared memory: in a tree, each value is added once",
                    block.block,
                    repeated.len()
                );
                (said, event.line)
            })
        })
    })
}

/// The divergent branches per warp that such an exercise allows.
const DIVERGENCE: u64 = 2;

/// In an exercise about divergence, finds a warp in which lanes that are not neighbours read from
/// shared memory. Returns the message and the line.
pub(super) fn scattered(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    let is_idea = scene.task.budgets.iter().any(|b| b.idea && b.cost.what == DIVERGENT.what);
    // The budget for divergent branches gives its own advice.
    let divergent = (DIVERGENT.of)(&seen.counters.total);
    if !is_idea || divergent > DIVERGENCE * u64::from(scene.grid * scene.threads / 32) {
        return None;
    }
    if let Some(found) = by_low_bits(scene) {
        return Some(found);
    }
    let rounds = seen.traced.iter().flat_map(|block| &block.rounds);
    let mut loads = rounds
        .flat_map(|round| &round.events)
        .filter(|event| (event.what, event.space) == ("load", "shared"));
    let event = loads.find(|event| event.lanes.windows(2).any(|pair| pair[0] + 1 < pair[1]))?;
    let lanes: Vec<String> = event.lanes.iter().take(3).map(ToString::to_string).collect();
    let said = format!(
        "the lanes {}, … of warp {} read from shared memory, and the lanes between them do not: let neighbouring lanes do the additions",
        lanes.join(", "),
        event.warp
    );
    Some((said, event.line))
}

/// Finds a condition on the lowest bits of the thread's index, which chooses lanes that are not
/// neighbours. Returns the message and the line.
fn by_low_bits(scene: &Scene<'_>) -> Option<(String, u32)> {
    let kernel = scene.module.kernel(&scene.entry().ok()?)?;
    let (mut index, mut low): (BTreeSet<&str>, BTreeSet<&str>) = (["%tid.x"].into(), [].into());
    let line = (0..kernel.len() as u32).find_map(|pc| {
        let mut words = kernel.text(pc).split([' ', ',', ';']).filter(|word| !word.is_empty());
        let op = words.find(|word| !word.starts_with('@'))?;
        let (result, of): (&str, Vec<&str>) = (words.next()?, words.collect());
        let from = |set: &BTreeSet<&str>| of.iter().any(|word| set.contains(word));
        let mask = of.iter().find_map(|word| word.parse::<i64>().ok());
        if op.starts_with("setp.") && from(&low) {
            return Some(kernel.line(pc));
        }
        let ands = op.starts_with("and.b") || op.starts_with("rem.");
        if from(&index) && ands && mask.is_none_or(|mask| (0..31).contains(&mask)) {
            low.insert(result);
        } else if from(&index) && (ands || op.starts_with("mov.") || op.starts_with("cvt.")) {
            index.insert(result);
        }
        None
    })?;
    let said = format!(
        "line {line} chooses lanes by the lowest bits of their index, so the lanes that add are not neighbours: let neighbouring lanes do the additions"
    );
    Some((said, line))
}
