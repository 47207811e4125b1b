//! Makes the frames of a stepper; a frame is the work of a block from one barrier (or shuffle) to
//! the next.
//!
//! The interpreter's trace has an event for each warp and instruction. Neighbouring warps nearly
//! always execute the same instructions on addresses that are a constant distance apart, so a frame
//! stores groups of warps. A whole trace therefore takes a few kilobytes, which a page can contain.

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Serialize};
use simt::observe::{Trace, TraceEvent as Event, TraceRound};

/// The frames of a step, keyed by the number of threads per block.
pub type Frames = BTreeMap<u32, Vec<Frame>>;

/// The events between two barriers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The name, such as `Load`, `Round 3` or `Store`.
    pub name: String,
    /// The barrier at the end of the frame: `block`, `cluster`, `warp` or empty.
    pub end: String,
    /// Groups of neighbouring warps that execute the same instructions.
    pub groups: Vec<Group>,
}

/// Neighbouring warps that execute the same instructions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The first warp.
    pub first: u32,
    /// The last warp.
    pub last: u32,
    /// The instructions of each warp, in order.
    pub ops: Vec<Op>,
}

/// One warp instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Op {
    /// `ld`, `st` or `at` for shared memory; `gld`, `gst` or `gat` for global memory; `shfl` and
    /// others.
    pub what: String,
    /// The mask of the participating lanes.
    pub mask: u32,
    /// The line of `kernel.cu`.
    pub line: u32,
    /// For shared memory, the number of wavefronts; for global memory, the number of sectors; for a
    /// shuffle, the distance.
    pub cost: u32,
    /// The number of wavefronts beyond the minimum.
    pub conflicts: u32,
    /// The shared word of lane 0 of the first warp, even if that lane is idle. For a load of the
    /// input, the index of the element.
    pub base: i64,
    /// The distance between neighbouring lanes, in words.
    pub stride: i64,
    /// The distance between neighbouring warps, in words.
    pub step: i64,
    /// Whether the instruction loads elements of the input.
    #[serde(default, skip_serializing_if = "is_not")]
    pub input: bool,
    /// The number of consecutive words per lane.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub wide: u32,
    /// The words that the participating lanes access, if their strides differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<i64>,
}

fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde requires a reference.
fn is_not(input: &bool) -> bool {
    !input
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde requires a reference.
fn is_one(wide: &u32) -> bool {
    *wide == 1
}

/// The memory of the input.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The range of addresses of the elements.
    pub bytes: Range<u64>,
    /// Bytes per element.
    pub size: u64,
}

impl Op {
    /// Returns the shared word that a lane accesses in the warp that is `warps_on` warps after the
    /// first.
    pub fn word(&self, warps_on: u32, lane: u32) -> Option<i64> {
        if self.mask >> lane & 1 == 0 || !matches!(self.what.as_str(), "ld" | "st" | "at") {
            return None;
        }
        let before = (self.mask & ((1u32 << lane) - 1)).count_ones() as usize;
        let own = match self.words.get(before) {
            Some(word) => *word,
            None => self.base + self.stride * i64::from(lane),
        };
        Some(own + self.step * i64::from(warps_on))
    }
}

impl Frame {
    /// Returns the instructions of a warp, and its distance from the first warp of its group.
    pub fn warp(&self, warp: u32) -> Option<(&[Op], u32)> {
        let group = self.groups.iter().find(|g| (g.first..=g.last).contains(&warp))?;
        Some((&group.ops, warp - group.first))
    }

    /// Sums a value over all warps.
    pub fn sum(&self, of: impl Fn(&Op) -> u32) -> u32 {
        let group = |g: &Group| (g.last - g.first + 1) * g.ops.iter().map(&of).sum::<u32>();
        self.groups.iter().map(group).sum()
    }

    /// Returns the number of lanes that access memory or exchange values, over all warps.
    pub fn lanes(&self) -> u32 {
        let group = |g: &Group| {
            let mask = g.ops.iter().fold(0, |mask, op| mask | op.mask);
            (g.last - g.first + 1) * mask.count_ones()
        };
        self.groups.iter().map(group).sum()
    }

    /// Returns the number of warps with at least one active lane.
    pub fn warps(&self) -> u32 {
        self.groups.iter().map(|g| g.last - g.first + 1).sum()
    }
}

/// Returns the frames of the first block in the first launch; `ptx` is the PTX of the kernel.
pub fn of_trace(trace: &Trace, ptx: &str, input: &Input) -> Vec<Frame> {
    let Some(block) = trace.blocks.iter().find(|b| b.launch == 0 && b.block == 0) else {
        return Vec::new();
    };
    let ptx: Vec<&str> = ptx.lines().collect();
    let mut frames = Vec::new();
    let mut round = 0;
    for TraceRound { events } in &block.rounds {
        let parts = parts(events, input);
        let count = parts.len();
        for (index, warps) in parts.into_iter().enumerate() {
            let ops: BTreeMap<u32, Vec<Op>> = warps
                .iter()
                .map(|(warp, events)| {
                    (*warp, events.iter().filter_map(|e| op(e, &ptx, input)).collect())
                })
                .filter(|(_, ops): &(_, Vec<Op>)| !ops.is_empty())
                .collect();
            let waits = |what: &str| warps.values().flatten().any(|event| event.what == what);
            let end = match () {
                _ if index + 1 == count && waits("barrier") => "block",
                _ if index + 1 == count && waits("cluster barrier") => "cluster",
                _ if waits("warp barrier") => "warp",
                _ => "",
            };
            if ops.is_empty() {
                continue;
            }
            let has = |what: &str| ops.values().flatten().any(|op| op.what == what);
            let name = match () {
                _ if has("gst") || has("gat") => "Store".to_owned(),
                _ if has("gld") => "Load".to_owned(),
                _ if has("shfl") || has("ld") && has("st") => {
                    round += 1;
                    format!("Round {round}")
                }
                _ if ops.values().flatten().any(|op| op.what == "ld" && op.wide > 1) => {
                    "Add".to_owned()
                }
                _ => "Exchange".to_owned(),
            };
            frames.push(Frame { name, end: end.to_owned(), groups: groups(ops) });
        }
    }
    for name in ["Load", "Add"] {
        number(&mut frames, name);
    }
    frames
}

/// Numbers the frames with this name, if there are several, because such frames are the iterations
/// of a loop.
fn number(frames: &mut [Frame], name: &str) {
    if frames.iter().filter(|frame| frame.name == name).count() > 1 {
        let turns = frames.iter_mut().filter(|frame| frame.name == name);
        turns.zip(1..).for_each(|(frame, turn)| frame.name = format!("{name} {turn}"));
    }
}

/// Splits the round of each warp at a warp barrier after a store, at a shuffle, and where a loop
/// loads again.
fn parts(events: &[Event], input: &Input) -> Vec<BTreeMap<u32, Vec<Event>>> {
    let mut parts: Vec<BTreeMap<u32, Vec<Event>>> = Vec::new();
    let mut at: BTreeMap<u32, usize> = BTreeMap::new();
    for event in events {
        let part = at.entry(event.warp).or_default();
        let shuffle = event.what == "shuffle";
        let loads = |e: &Event| e.what == "load" && (e.space == "shared" || is_input(e, input));
        let so_far = |part: usize| parts.get(part).and_then(|warps| warps.get(&event.warp));
        // A shuffle starts a new frame after memory accesses.
        if shuffle && so_far(*part).is_some_and(|events| events.iter().any(|e| !e.space.is_empty()))
        {
            *part += 1;
        }
        let last = so_far(*part).and_then(|events| events.iter().rev().find(|e| loads(e)));
        if loads(event) && last.is_some_and(|last| event.ptx_line <= last.ptx_line) {
            *part += 1;
        }
        // A repetition of the same event counts as polling.
        if so_far(*part).and_then(|events| events.last()) == Some(event) {
            continue;
        }
        let stored = so_far(*part).is_some_and(|events| events.iter().any(|e| e.what == "store"));
        if parts.len() <= *part {
            parts.resize_with(*part + 1, BTreeMap::new);
        }
        parts[*part].entry(event.warp).or_default().push(event.clone());
        if shuffle || event.what == "warp barrier" && stored {
            *part += 1;
        }
    }
    parts
}

/// Returns whether all lanes access elements of the input.
fn is_input(event: &Event, input: &Input) -> bool {
    let all = |address| input.bytes.contains(address);
    event.space == "global" && event.addresses.iter().all(all) && !event.addresses.is_empty()
}

fn op(event: &Event, ptx: &[&str], input: &Input) -> Option<Op> {
    let what = match (event.what, event.space) {
        ("load", "shared") => "ld",
        ("store", "shared") => "st",
        ("atomic", "shared") => "at",
        ("load", _) => "gld",
        ("store", _) => "gst",
        ("atomic", _) => "gat",
        ("shuffle", _) => "shfl",
        (what, _) if what.contains("barrier") => return None,
        (what, _) => what,
    };
    let mask = event.lanes.iter().fold(0, |mask, lane| mask | 1 << lane);
    let cost = match what {
        "shfl" => distance(ptx, event.ptx_line.saturating_sub(1) as usize),
        "gld" | "gst" | "gat" => event.sectors,
        _ => event.wavefronts,
    };
    let mut op = Op {
        what: what.to_owned(),
        mask,
        line: event.line,
        cost,
        conflicts: event.conflicts,
        base: 0,
        stride: 0,
        step: 0,
        input: is_input(event, input),
        wide: 1,
        words: Vec::new(),
    };
    if event.space == "shared" || op.input {
        let (first, size) = if op.input { (input.bytes.start, input.size) } else { (0, 4) };
        op.wide = u64::from(event.bytes).div_ceil(size).max(1) as u32;
        let words: Vec<i64> = event.addresses.iter().map(|a| ((a - first) / size) as i64).collect();
        let lanes: Vec<i64> = event.lanes.iter().map(|&lane| i64::from(lane)).collect();
        let (first, last) = (*words.first()?, *words.last()?);
        let span = lanes[lanes.len() - 1] - lanes[0];
        op.stride = if span == 0 { 0 } else { (last - first) / span };
        op.base = first - op.stride * lanes[0];
        let even = lanes.iter().zip(&words).all(|(l, w)| op.base + op.stride * l == *w);
        if !even {
            (op.base, op.stride, op.words) = (0, 0, words);
        }
    }
    Some(op)
}

/// Returns the distance of a shuffle: the third operand, which is a number, or a register to which
/// a number was moved.
fn distance(ptx: &[&str], line: usize) -> u32 {
    let text = ptx.get(line).copied().unwrap_or_default();
    let operands = text.split("shfl.sync.").nth(1).unwrap_or_default();
    let operand = operands.split(',').nth(2).unwrap_or_default().trim();
    if let Ok(number) = operand.parse() {
        return number;
    }
    let before = ptx.iter().take(line).rev();
    let set = before.map(|line| line.trim()).find_map(|line| {
        let (register, value) = line.strip_prefix("mov.")?.split_once(',')?;
        (register.split_whitespace().last()? == operand).then_some(value)
    });
    set.and_then(|value| value.trim().trim_end_matches(';').parse().ok()).unwrap_or(0)
}

/// Groups neighbouring warps that execute the same instructions on words at a constant distance.
fn groups(warps: BTreeMap<u32, Vec<Op>>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (warp, ops) in warps {
        if let Some(group) = groups.last_mut().filter(|group| group.last + 1 == warp)
            && let Some(steps) = steps(group, &ops, warp)
        {
            group.ops.iter_mut().zip(steps).for_each(|(op, step)| op.step = step);
            group.last = warp;
            continue;
        }
        groups.push(Group { first: warp, last: warp, ops });
    }
    groups
}

/// Returns, for each instruction, the distance in words between neighbouring warps, if this warp
/// continues the group.
fn steps(group: &Group, ops: &[Op], warp: u32) -> Option<Vec<i64>> {
    if group.ops.len() != ops.len() {
        return None;
    }
    let distance = i64::from(warp - group.first);
    let step = |(old, new): (&Op, &Op)| {
        let from = |op: &Op| op.words.first().copied().unwrap_or(op.base);
        let step = (from(new) - from(old)) / distance;
        let moved = Op {
            base: if old.words.is_empty() { old.base + step * distance } else { 0 },
            words: old.words.iter().map(|word| word + step * distance).collect(),
            step: 0,
            ..old.clone()
        };
        let fits = moved == *new && (group.first == group.last || old.step == step);
        fits.then_some(step)
    };
    group.ops.iter().zip(ops).map(step).collect()
}

#[cfg(test)]
mod tests {
    use simt::observe::BlockTrace;

    use super::*;

    fn event(
        what: &'static str,
        space: &'static str,
        warp: u32,
        lanes: &[u32],
        word: impl Fn(u32) -> u64,
    ) -> Event {
        let addresses = lanes.iter().map(|&lane| 4 * word(32 * warp + lane)).collect();
        let (line, ptx_line, lanes) = (7, 1, lanes.to_vec());
        Event {
            what,
            space,
            warp,
            line,
            ptx_line,
            lanes,
            addresses,
            wavefronts: 1,
            ..Event::default()
        }
    }

    fn trace(rounds: Vec<Vec<Event>>) -> Trace {
        let rounds = rounds.into_iter().map(|events| TraceRound { events }).collect();
        let (entry, threads) = ("reduce".to_owned(), 64);
        let block = BlockTrace { launch: 0, entry, block: 0, threads, rounds };
        let mut trace = Trace::new(1);
        trace.blocks.push(block);
        trace
    }

    #[test]
    fn warps_that_do_the_same_are_one_group() {
        let all: Vec<u32> = (0..32).collect();
        let half: Vec<u32> = (0..32).step_by(2).collect();
        let round = |warps: &[u32]| {
            let mut events = Vec::new();
            for &warp in warps {
                events.push(event("load", "shared", warp, &half, |t| u64::from(t) + 1));
                events.push(event("store", "shared", warp, &half, u64::from));
                events.push(event("barrier", "", warp, &all, |_| 0));
            }
            events
        };
        let frames =
            of_trace(&trace(vec![round(&[0, 1, 2, 3]), round(&[0])]), "", &Input::default());
        assert_eq!(frames.len(), 2);
        assert_eq!((frames[0].groups.len(), frames[0].warps(), frames[0].lanes()), (1, 4, 64));
        let (ops, on) = frames[0].warp(3).unwrap();
        assert_eq!((ops[0].word(on, 2), ops[0].word(on, 3)), (Some(99), None));
        assert_eq!((frames[1].warps(), frames[1].end.as_str()), (1, "block"));
    }

    #[test]
    fn the_distance_of_a_shuffle_may_be_in_a_register() {
        let ptx = [
            "mov.u32 \t%r5, 8;",
            "mov.b32 %r6, 31;",
            "shfl.sync.down.b32 %r1|%p1, %r2, %r5, %r6, %r7;",
        ];
        assert_eq!(distance(&ptx, 2), 8);
        assert_eq!(distance(&ptx, 1), 0);
    }

    #[test]
    fn shuffles_and_warp_barriers_split_a_round() {
        let all: Vec<u32> = (0..32).collect();
        let events = vec![
            event("load", "global", 0, &all, u64::from),
            event("shuffle", "", 0, &all, |_| 0),
            event("shuffle", "", 0, &all, |_| 0),
            event("load", "shared", 0, &all, u64::from),
            event("warp barrier", "", 0, &all, |_| 0),
            event("store", "shared", 0, &all, u64::from),
            event("warp barrier", "", 0, &all, |_| 0),
            event("store", "global", 0, &[0], u64::from),
        ];
        let ptx = "shfl.sync.down.b32 \t%r3|%p1, %r2, 16, 31, -1;";
        let frames = of_trace(&trace(vec![events]), ptx, &Input::default());
        let names: Vec<&str> = frames.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(names, ["Load", "Round 1", "Round 2", "Round 3", "Store"]);
        assert_eq!(frames[1].groups[0].ops[0].cost, 16);
        assert_eq!(frames[3].end, "warp");
    }

    #[test]
    fn a_loop_that_loads_again_has_a_frame_per_iteration() {
        let all: Vec<u32> = (0..32).collect();
        let turn = |turn: u64| {
            let mut load = event("load", "global", 0, &all, |t| 1024 + 128 * turn + u64::from(t));
            load.bytes = 4;
            load
        };
        let input = Input { bytes: 4096..8192, size: 4 };
        let frames = of_trace(&trace(vec![vec![turn(0), turn(1), turn(2)]]), "", &input);
        let names: Vec<&str> = frames.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(names, ["Load 1", "Load 2", "Load 3"]);
        let op = &frames[2].groups[0].ops[0];
        assert_eq!((op.input, op.base, op.stride, op.wide), (true, 256, 1, 1));
        // Without an input range, repeated loads count as polling, so they form one frame with one
        // load.
        let waits = vec![turn(0), turn(0), turn(0)];
        let frames = of_trace(&trace(vec![waits]), "", &Input::default());
        assert_eq!((frames.len(), frames[0].groups[0].ops.len()), (1, 1));
    }
}
