//! Checks that bulk copies are in flight while a block adds.

use std::collections::BTreeSet;
use std::ops::Range;

use simt::observe::BlockTrace;

use crate::scene::{Scene, Seen};

/// A copy to shared memory.
struct Stage {
    /// The bytes in shared memory.
    at: Range<u64>,
    /// The number of the event at which the copy begins.
    begin: usize,
    /// The warp that requests the copy, and the number of its first load from the copied bytes.
    by: u32,
    own: Option<usize>,
    /// The number, the warp and the line of the last load from the copied bytes.
    read: Option<(usize, u32, u32)>,
    /// The `mbarrier`, and the warps that have waited for the copy, each with the number of the
    /// event.
    mbarrier: Option<u64>,
    waits: Vec<(u32, usize)>,
}

/// Returns the message and the line for a kernel whose copies are not those that the exercise
/// requires.
pub(super) fn copies(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    if !scene.task.copies {
        return None;
    }
    let found = |block| {
        by_lanes(block)
            .or_else(|| pieces(block))
            .or_else(|| idle(scene, block))
            .or_else(|| alone(block))
    };
    seen.traced.iter().find_map(found)
}

/// Finds a copy of a stage that is not the block's next one. Returns the message and the line.
pub(super) fn order(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    if !scene.task.copies {
        return None;
    }
    seen.traced.iter().find_map(|block| {
        let events = block.rounds.iter().flat_map(|round| &round.events);
        let mut copies = events.filter(|event| event.what == "copy");
        let stages = (block.block..).step_by(scene.grid as usize);
        let (stage, copy) = stages.zip(&mut copies).find(|(stage, copy)| {
            copy.source.wrapping_sub(seen.input.start) != stage * u64::from(STAGE)
        })?;
        let said = format!(
            "block {} copies another stage than {stage}: it adds the stages `first`, `first + stride` and so on, in this order",
            block.block
        );
        Some((said, copy.line))
    })
}

/// The bytes of a whole stage.
const STAGE: u32 = 256 * 16;

/// Finds a block that brings in its stages in pieces. Returns the message and the line. One stage of
/// the launch may be shorter than the others.
fn pieces(block: &BlockTrace) -> Option<(String, u32)> {
    let events = block.rounds.iter().flat_map(|round| &round.events);
    let mut short = events.filter(|event| event.what == "copy" && event.bytes < STAGE);
    let second = short.nth(1)?;
    let said = format!(
        "block {} copies {} bytes at once, and a stage has {STAGE} bytes: let one thread request a whole stage by one bulk copy",
        block.block, second.bytes
    );
    Some((said, second.line))
}

/// Finds threads that load more of the input than its last elements, which fill no vector. Returns
/// the message and the line.
pub(super) fn loads(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    if !scene.task.copies {
        return None;
    }
    let size = scene.element.size();
    let left = scene.n % (16 / size);
    let rounds = seen.traced.iter().flat_map(|block| &block.rounds);
    let events = rounds.flat_map(|round| &round.events);
    let mut loaded = BTreeSet::new();
    events.filter(|event| (event.what, event.space) == ("load", "global")).find_map(|event| {
        let is_input = |at: &&u64| seen.input.contains(at);
        loaded.extend(event.addresses.iter().filter(is_input).copied());
        (loaded.len() as u64 > left).then(|| {
            let said = format!(
                "threads load elements that bulk copies could bring in: only the last {left} elements fill no vector of 16 bytes"
            );
            (said, event.line)
        })
    })
}

/// Finds copies that each lane issues on its own. Returns the message and the line.
fn by_lanes(block: &BlockTrace) -> Option<(String, u32)> {
    let mut events = block.rounds.iter().flat_map(|round| &round.events);
    let copy = events.find(|event| event.what == "async copy")?;
    let said = "each thread issues copies of its own (`cp.async`): let one thread request a whole stage by a bulk copy";
    Some((said.into(), copy.line))
}

/// Finds a warp that reads no bytes of a whole stage, in a block in which this happens for more than
/// one stage in four. Returns the message and the line of the last read.
fn idle(scene: &Scene<'_>, block: &BlockTrace) -> Option<(String, u32)> {
    let events = block.rounds.iter().flat_map(|round| &round.events);
    // The address of each whole stage, and the warps that read it before the next copy to this
    // address.
    let mut stages: Vec<(u64, BTreeSet<u32>)> = Vec::new();
    let mut line = 0;
    for event in events {
        match (event.what, event.space) {
            ("copy", _) if event.bytes == STAGE => {
                stages.push((event.addresses[0], BTreeSet::new()));
            }
            ("load", "shared") => {
                let has = |first: u64| {
                    let end = first + u64::from(STAGE);
                    event.addresses.iter().any(|at| (first..end).contains(at))
                };
                if let Some((_, warps)) = stages.iter_mut().rev().find(|(first, _)| has(*first)) {
                    warps.insert(event.warp);
                    line = event.line;
                }
            }
            _ => {}
        }
    }
    let all = scene.threads / 32;
    let lacks = |warps: &BTreeSet<u32>| (0..all).find(|warp| !warps.contains(warp));
    let read = stages.iter().filter(|(_, warps)| !warps.is_empty());
    let idle: Vec<u32> = read.clone().filter_map(|(_, warps)| lacks(warps)).collect();
    (4 * idle.len() > read.count()).then(|| {
        let said = format!(
            "warp {} of block {} adds no element of a stage: all {} threads must add, one vector each",
            idle[0], block.block, scene.threads
        );
        (said, line)
    })
}

/// Returns a failure if several stages, and more than one in twelve, have no other copy underway
/// when their last value is read. Also returns a failure if the warp that requests the stages adds a
/// stage before it requests the next one. A copy is underway until the reading warp has waited for it. The
/// block's last stage does not count.
fn alone(block: &BlockTrace) -> Option<(String, u32)> {
    let mut stages: Vec<Stage> = Vec::new();
    let events = block.rounds.iter().flat_map(|round| &round.events);
    for (time, event) in events.enumerate() {
        match (event.what, event.space) {
            ("copy", _) => {
                let at = event.addresses[0];
                let at = at..at + u64::from(event.bytes);
                let (mbarrier, waits) = (event.mbarrier, Vec::new());
                stages.push(Stage {
                    at,
                    begin: time,
                    by: event.warp,
                    own: None,
                    read: None,
                    mbarrier,
                    waits,
                });
            }
            ("wait", _) => {
                // A wait is for the first copy of this barrier for which the warp has not waited.
                let warp = event.warp;
                let of = |stage: &&mut Stage| {
                    stage.mbarrier == event.addresses.first().copied()
                        && stage.waits.iter().all(|(other, _)| *other != warp)
                };
                if let Some(stage) = stages.iter_mut().find(of) {
                    stage.waits.push((warp, time));
                }
            }
            ("load", "shared") => {
                // A load from an address reads the latest copy to that address.
                let of =
                    |stage: &&mut Stage| event.addresses.iter().any(|at| stage.at.contains(at));
                if let Some(stage) = stages.iter_mut().rev().find(of) {
                    stage.read = Some((time, event.warp, event.line));
                    if stage.by == event.warp {
                        stage.own.get_or_insert(time);
                    }
                }
            }
            _ => {}
        }
    }
    let read: Vec<(&Stage, (usize, u32, u32))> =
        stages.iter().filter_map(|stage| stage.read.map(|read| (stage, read))).collect();
    let is_alone = |end: usize, warp: u32| {
        let waited = |stage: &Stage| stage.waits.iter().any(|(w, t)| *w == warp && *t < end);
        !read.iter().any(|(other, (e, ..))| other.begin < end && *e > end && !waited(other))
    };
    let alone: Vec<u32> = read
        .iter()
        .filter(|(_, (end, warp, _))| is_alone(*end, *warp))
        .map(|(_, (.., line))| *line)
        .collect();
    // While the block adds the last stage, no copies are left.
    let before = alone.len().max(1) - 1;
    if before > 1 && 12 * before > read.len() {
        let said = format!(
            "block {} adds {} stages, and while it adds {} of them no other copy is in flight: request the next stage before you wait for this one",
            block.block,
            read.len(),
            alone.len()
        );
        return Some((said, alone[0]));
    }
    // The warp that requests the stages must request the next one before it adds this one.
    let late = stages.windows(2).filter(|pair| pair[0].own.is_some_and(|own| own < pair[1].begin));
    let late = late.count();
    (4 * late > read.len()).then(|| {
        let said = format!(
            "block {} adds {} stages, and requests {late} of them only after it has added elements of the stage before: request the next stage before you add this one, so that its copy is in flight meanwhile",
            block.block,
            read.len(),
        );
        (said, read[0].1.2)
    })
}
