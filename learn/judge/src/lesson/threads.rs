//! Checks what each thread does with its elements.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use numbers::group;
use simt::observe::BlockTrace;

use crate::cost::{SECTORS, WARP_BARRIERS};
use crate::scene::{Scene, Seen};
use crate::task::{Operation, Shape};

/// Finds a thread that loads a second element in an exercise with one element per thread, and a
/// block that loads its elements twice. Returns the message and the line. A thread may load its
/// element several times in order to print it.
pub(super) fn loads(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    let Shape::Tiles { each } = scene.task.shape else { return None };
    seen.traced.iter().find_map(|block| {
        let (mut first, mut all, mut total) = (BTreeMap::new(), BTreeSet::new(), 0);
        let mut events = block.rounds.iter().flat_map(|round| &round.events);
        events.find_map(|event| {
            if (event.what, event.space) != ("load", "global") {
                return None;
            }
            let values = u64::from(event.bytes) / scene.element.size();
            let loads = event.lanes.iter().zip(&event.addresses);
            for (lane, address) in loads.filter(|(_, address)| seen.input.contains(address)) {
                let thread = 32 * event.warp + lane;
                total += values;
                all.extend((0..values).map(|i| address + scene.element.size() * i));
                if each == 1 && *first.entry(thread).or_insert(*address) != *address {
                    let said = format!(
                        "thread {thread} of block {} loads a second element: each thread has one element",
                        block.block
                    );
                    return Some((said, event.line));
                }
            }
            (scene.task.operation == Operation::SumAndMax && total > all.len() as u64 * 3 / 2 + 64)
                .then(|| {
                    let said = format!(
                        "block {} loads {} elements, but has only {}: load each element once",
                        block.block,
                        group(total),
                        group(all.len() as u64)
                    );
                    (said, event.line)
                })
        })
    })
}

/// In an exercise on shuffles, finds a launch without them. Returns the message, and 0 for no line.
pub(super) fn unshuffled(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    if !scene.task.budgets.iter().any(|b| b.idea && b.cost.what == WARP_BARRIERS.what) {
        return None;
    }
    let rounds = seen.traced.iter().flat_map(|block| &block.rounds);
    let mut events = rounds.flat_map(|round| &round.events);
    (!events.any(|event| event.what == "shuffle")).then(|| {
        let said = "the lanes exchange no values by shuffles: let them do so in every type";
        (said.to_owned(), 0)
    })
}

/// The maximum number of votes of a warp, such as those that compute masks.
const VOTES: usize = 8;

/// Finds a warp that computes its result bit by bit from votes, or by an instruction that `float`
/// lacks. Returns the message and the line.
pub(super) fn voted(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    if !matches!(scene.task.shape, Shape::Tiles { .. }) {
        return None;
    }
    seen.traced.iter().find_map(|block| {
        let mut votes: BTreeMap<u32, usize> = BTreeMap::new();
        let events = block.rounds.iter().flat_map(|round| &round.events);
        events.filter(|event| matches!(event.what, "vote" | "match" | "redux")).find_map(|event| {
            if event.what == "redux" {
                let said = format!(
                    "warp {} of block {} combines its values by a single instruction, which only integers have: let the lanes form a tree in every type",
                    event.warp, block.block
                );
                return Some((said, event.line));
            }
            let count = votes.entry(event.warp).or_default();
            *count += 1;
            (*count > VOTES).then(|| {
                let said = format!(
                    "warp {} of block {} votes more than {VOTES} times: combine values in a tree, not bits one after another",
                    event.warp, block.block
                );
                (said, event.line)
            })
        })
    })
}

/// In an exercise in which a warp works alone, finds a warp that then waits at block barriers.
/// Returns the message and the line.
pub(super) fn alone(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    if !scene.task.warps || !matches!(scene.task.shape, Shape::Tiles { .. }) {
        return None;
    }
    seen.traced.iter().find_map(|block| {
        // The number of block barriers of each warp, and the line of the last one.
        let mut waits = vec![(0u32, 0u32); scene.threads as usize / 32];
        let events = block.rounds.iter().flat_map(|round| &round.events);
        for event in events.filter(|event| event.what == "barrier") {
            let (count, line) = waits.get_mut(event.warp as usize)?;
            (*count, *line) = (*count + 1, event.line);
        }
        let (least, _) = waits.iter().min()?;
        let (warp, (most, line)) = waits.iter().enumerate().max_by_key(|(_, wait)| **wait)?;
        (*most > least + 1).then(|| {
            let said = format!(
                "warp {warp} of block {} waits at {most} block barriers and another warp at {least}: a warp that works alone needs none",
                block.block
            );
            (said, *line)
        })
    })
}

/// Finds two warps that wait at different block barriers at the same time, which CUDA does not
/// define. Returns the message and the line.
pub(super) fn apart(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    if !matches!(scene.task.shape, Shape::Tiles { .. }) {
        return None;
    }
    seen.traced.iter().find_map(|block| {
        // The lines of the first barrier that each warp has passed, of the second, and so on.
        let mut lines: Vec<u32> = Vec::new();
        let mut passed: BTreeMap<u32, usize> = BTreeMap::new();
        let events = block.rounds.iter().flat_map(|round| &round.events);
        events.filter(|event| event.what == "barrier").find_map(|event| {
            let at = passed.entry(event.warp).or_default();
            *at += 1;
            if lines.len() < *at {
                lines.push(event.line);
            }
            let other = lines[*at - 1];
            (other != event.line).then(|| {
                let said = format!(
                    "warp {} of block {} waits at the barrier of line {}, and another warp at that of line {other}: all threads of a block must wait at the same `__syncthreads()`",
                    event.warp, block.block, event.line
                );
                (said, event.line)
            })
        })
    })
}

/// Returns a failure if, in most loads by whole warps, the lanes load elements that are not
/// neighbours. Lanes that have diverged may load for different iterations at once.
pub(super) fn spread(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    // A budget for sectors gives its own advice.
    let budgeted = scene.task.budgets.iter().any(|b| b.cost.what == SECTORS.what);
    if scene.task.operation != Operation::Sum || scene.task.copies || budgeted {
        return None;
    }
    spread_in(scene, &seen.traced, &seen.input)
}

/// Like [`spread`], for the traces of some blocks and the addresses of the input.
pub(crate) fn spread_in(
    scene: &Scene<'_>,
    traced: &[BlockTrace],
    input: &Range<u64>,
) -> Option<(String, u32)> {
    let rounds = traced.iter().flat_map(|block| &block.rounds);
    let whole = rounds
        .flat_map(|round| &round.events)
        .filter(|event| (event.what, event.space) == ("load", "global") && event.lanes.len() == 32);
    let (mut all, mut spread) = (0, Vec::new());
    for event in whole {
        let bounds = event.addresses.iter().min().zip(event.addresses.iter().max());
        let Some((first, last)) = bounds.filter(|(a, b)| input.contains(a) && input.contains(b))
        else {
            continue;
        };
        all += 1;
        if last - first != 31 * u64::from(event.bytes) && last != first {
            spread.push((event, last - first + u64::from(event.bytes)));
        }
    }
    let (event, bytes) = spread.first().filter(|_| 2 * spread.len() > all)?;
    let said = format!(
        "the 32 lanes of warp {} load elements that are spread over {} elements: neighbouring lanes must load neighbouring elements",
        event.warp,
        group(bytes / scene.element.size())
    );
    Some((said, event.line))
}

/// Finds a conversion to `float` and back of a number that depends on the block or on n. Returns the
/// message and the line. A `float` has 24 significant bits, so the index is wrong in a large grid.
pub(super) fn rounded(scene: &Scene<'_>) -> Option<(String, u32)> {
    let kernel = scene.module.kernel(&scene.entry().ok()?)?;
    let mut large: BTreeSet<&str> = ["%ctaid.x", "%nctaid.x"].into();
    let line = (0..kernel.len() as u32).find_map(|pc| {
        let mut words = kernel.text(pc).split([' ', ',', ';', '[', ']', '{', '}', '|']);
        let op = words.find(|word| !word.starts_with('@'))?;
        let mut registers = words.filter(|word| word.starts_with('%'));
        let result = registers.next().filter(|_| !op.starts_with("st."))?;
        let from = registers.any(|register| large.contains(register));
        // A loaded element does not depend on its index.
        let loads = op.starts_with("ld.") || op.starts_with("atom.");
        if if loads { !op.starts_with("ld.param.") } else { !from } {
            return None;
        }
        large.insert(result);
        let parts: Vec<&str> = op.split('.').collect();
        let to = parts.get(parts.len().wrapping_sub(2))?;
        let back = op.starts_with("cvt.") && op.ends_with(".f32") && to.starts_with(['s', 'u']);
        back.then(|| kernel.line(pc))
    })?;
    let said = format!(
        "line {line} computes an index or a size in `float`, which rounds whole numbers beyond 2^24: compute it in `unsigned long long`"
    );
    Some((said, line))
}
