//! Counts the work of the lanes and warps of a block.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use simt::observe::{BlockTrace, TraceEvent};

/// The work of one block: counts by lane or warp, each with the line of its last event.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The input elements that each thread loads.
    pub(super) loaded: BTreeMap<u32, (u64, u32)>,
    /// The values that each thread reads from memory and from other lanes.
    pub(super) got: BTreeMap<u32, (u64, u32)>,
    /// The block and warp barriers that each warp passes.
    pub(super) waits: BTreeMap<u32, (u64, u32)>,
    /// The warps that combine values by shuffles or from shared memory, each with the line of its
    /// first such event.
    combining: BTreeMap<u32, u32>,
    /// The words of shared memory that a warp has stored after it combined values.
    combined: BTreeMap<u64, u32>,
    /// Those of the combining warps whose results another warp loads, or that store to global
    /// memory.
    pub(super) adding: BTreeMap<u32, u32>,
    /// For each warp: the number of shuffles since its last block barrier, and the maximum of that
    /// number so far.
    shuffled: BTreeMap<u32, (u64, u32)>,
    pub(super) row: BTreeMap<u32, (u64, u32)>,
    /// For each thread: the number of values, other than input elements, that it has read from
    /// memory since its warp last synchronized, and the maximum of that number so far.
    since: BTreeMap<u32, (u64, u32)>,
    pub(super) burst: BTreeMap<u32, (u64, u32)>,
    /// Whether a lane loads several elements of the input at once.
    pub(super) vectors: bool,
    /// Whether lanes exchange values by shuffles.
    pub(super) shuffles: bool,
    /// The number of sectors of the input that the block loads.
    pub(super) sectors: u64,
    /// The number of atomics over all lanes, and the line of the last atomic.
    pub(super) atomics: (u64, u32),
}

impl Work {
    pub(super) fn of(
        block: &BlockTrace,
        input: &Range<u64>,
        doubles: &BTreeSet<u32>,
        size: u64,
    ) -> Work {
        let mut work = Work::default();
        for event in block.rounds.iter().flat_map(|round| &round.events) {
            // In every exercise, a `double` counts as one value, regardless of the element type.
            let size = if doubles.contains(&event.ptx_line) { 8 } else { size };
            work.add(event, input, u64::from(event.bytes).div_ceil(size));
        }
        work
    }

    /// Returns the elements that a warp loads.
    pub(super) fn by_warp(&self, warp: u32) -> u64 {
        self.loaded.range(32 * warp..32 * warp + 32).map(|(_, (loaded, _))| loaded).sum()
    }

    fn add(&mut self, event: &TraceEvent, input: &Range<u64>, values: u64) {
        let more = |map: &mut BTreeMap<u32, (u64, u32)>, of: u32, more: u64| {
            let (sum, line) = map.entry(of).or_default();
            (*sum, *line) = (*sum + more, event.line);
        };
        let words = || {
            event.addresses.iter().flat_map(|at| at / 4..(at + u64::from(event.bytes).max(4)) / 4)
        };
        let is_input = |at: usize| event.addresses.get(at).is_some_and(|a| input.contains(a));
        match (event.what, event.space) {
            ("load", space) => {
                for (at, lane) in event.lanes.iter().enumerate() {
                    let thread = 32 * event.warp + lane;
                    more(&mut self.got, thread, values);
                    if space == "global" && is_input(at) {
                        more(&mut self.loaded, thread, values);
                        self.vectors |= values > 1;
                    } else {
                        more(&mut self.since, thread, values);
                        let now = self.since[&thread];
                        let most = self.burst.entry(thread).or_insert(now);
                        *most = now.max(*most);
                    }
                }
                if space == "global" && is_input(0) {
                    self.sectors += u64::from(event.sectors);
                    return;
                }
                self.combining.entry(event.warp).or_insert(event.line);
                if space == "shared" {
                    for word in words() {
                        if let Some(by) = self.combined.get(&word).filter(|by| **by != event.warp) {
                            self.adding.entry(*by).or_insert(self.combining[by]);
                        }
                    }
                }
            }
            ("store", "shared") => {
                for word in words() {
                    match self.combining.contains_key(&event.warp) {
                        true => self.combined.insert(word, event.warp),
                        false => self.combined.remove(&word),
                    };
                }
            }
            ("store", "global") => self.used(event.warp),
            ("atomic", _) => {
                let lanes = event.lanes.len() as u64;
                self.atomics = (self.atomics.0 + lanes, event.line);
                self.used(event.warp);
                for lane in &event.lanes {
                    more(&mut self.got, 32 * event.warp + lane, values);
                }
            }
            ("shuffle", _) => {
                self.shuffles = true;
                more(&mut self.shuffled, event.warp, 1);
                let now = self.shuffled[&event.warp];
                let most = self.row.entry(event.warp).or_insert(now);
                *most = now.max(*most);
                self.since.retain(|thread, _| thread / 32 != event.warp);
                for lane in &event.lanes {
                    more(&mut self.got, 32 * event.warp + lane, 1);
                }
                self.combining.entry(event.warp).or_insert(event.line);
            }
            ("redux" | "match" | "vote", _) => {
                self.combining.entry(event.warp).or_insert(event.line);
            }
            ("barrier" | "warp barrier", _) => {
                if event.what == "barrier" {
                    self.shuffled.remove(&event.warp);
                }
                self.since.retain(|thread, _| thread / 32 != event.warp);
                more(&mut self.waits, event.warp, 1);
            }
            _ => {}
        }
    }

    /// Returns a warp that shuffles, but whose results are not used, with the line of a shuffle.
    pub(super) fn decoy(&self) -> Option<(u32, u32)> {
        let mut shuffling = self.row.iter().map(|(warp, (_, line))| (*warp, *line));
        shuffling.find(|(warp, _)| !self.adding.contains_key(warp))
    }

    /// Notes that a warp passes on what it has combined.
    fn used(&mut self, warp: u32) {
        if let Some(line) = self.combining.get(&warp) {
            self.adding.entry(warp).or_insert(*line);
        }
    }
}
