//! Releases through atomics, flags and `mbarrier`s, in a log for each address.
//!
//! A release appends the accesses that the thread is ordered after. An acquire records the length
//! of the log. The last of 1000 blocks can therefore be ordered after all other blocks without 1000
//! copies of a clock.

use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::shadow::{Entry, Strength};

/// A prefix of a log, which a thread has read or acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ref {
    pub(super) log: u32,
    pub(super) length: u32,
    /// The scope: 0 for the block, 1 for the cluster, 2 for the device, and 3 for the system.
    pub(super) scope: u8,
}

/// The accesses that lanes of a warp were ordered after when they released.
#[derive(Debug, Clone)]
pub(super) struct Release {
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) time: u32,
    pub(super) base: u32,
    pub(super) warp_base: u32,
    pub(super) rows: Option<Box<[[u32; 32]; 32]>>,
    /// The blocks of the cluster, by rank, and the times at which their warps arrived at the last
    /// cluster barrier.
    #[allow(clippy::type_complexity)] // Both parts are used together, in one place.
    pub(super) cluster: Option<(Vec<u32>, Arc<Vec<[u32; 32]>>)>,
    pub(super) refs: Vec<(u32, Ref)>,
    pub(super) scope: u8,
}

impl Release {
    /// Returns the lanes of an entry that at least one of the releasing lanes was ordered after.
    fn covered(&self, lanes: u32, e: &Entry) -> u32 {
        let met = |(blocks, met): &(Vec<u32>, Arc<Vec<[u32; 32]>>)| {
            let rank = blocks.iter().position(|&b| b == e.block);
            rank.is_some_and(|r| e.time <= met[r][e.warp() as usize])
        };
        let block = e.block == self.block;
        if block && e.time <= self.base || self.cluster.as_ref().is_some_and(met) {
            return e.lanes;
        }
        if !block || e.warp() != self.warp {
            return 0;
        }
        if e.time <= self.warp_base {
            return e.lanes;
        }
        let own = if e.time <= self.time { lanes } else { 0 };
        let others = self.rows.iter().flat_map(|rows| {
            let rows = rows.iter().enumerate().filter(|(l, _)| lanes >> l & 1 == 1);
            rows.map(|(_, row)| {
                row.iter().enumerate().fold(0, |m, (l, &t)| m | u32::from(e.time <= t) << l)
            })
        });
        others.fold(own, |all, m| all | m) & e.lanes
    }
}

/// Releases in log order. A thread's later release includes its earlier ones, so only its last
/// release counts.
#[derive(Debug, Clone, Default)]
struct Releases {
    /// All lanes that released.
    lanes: u32,
    /// Indices of the releases in the log's entries.
    entries: Vec<u32>,
}

impl Releases {
    fn push(&mut self, lanes: u32, entry: u32) {
        self.lanes |= lanes;
        self.entries.push(entry);
    }

    /// Iterates backwards over the releases in a prefix of the log, until each lane has been found.
    /// Releases for which `reach` returns `false` are skipped.
    fn last<'a>(
        &'a self,
        all: &'a [LogEntry],
        length: u32,
        reach: impl Fn(&Release) -> bool + 'a,
    ) -> impl Iterator<Item = &'a LogEntry> {
        let end = self.entries.partition_point(|&i| all[i as usize].at < length);
        let mut left = self.lanes;
        self.entries[..end]
            .iter()
            .rev()
            .map(|&i| &all[i as usize])
            .filter(move |entry| reach(&entry.release))
            .take_while(move |entry| {
                let more = left != 0;
                left &= !entry.lanes;
                more
            })
    }
}

#[derive(Debug, Clone)]
struct LogEntry {
    /// The position of this entry in the sequence of releases and ends of phases.
    at: u32,
    lanes: u32,
    release: Arc<Release>,
}

#[derive(Debug, Clone, Default)]
struct Log {
    /// Number of releases and ends of phases so far.
    length: u32,
    entries: Vec<LogEntry>,
    /// Releases by block and warp.
    warps: FxHashMap<(u32, u32), Releases>,
    /// Releases by block. Each block counts as one lane, because its barriers order all its lanes
    /// in the same way.
    blocks: FxHashMap<u32, Releases>,
    /// Releases of threads in clusters of several blocks, by block and warp.
    met: FxHashMap<(u32, u32), Releases>,
    /// Prefixes of other logs that the releasing threads had acquired. `wide` is for the releases
    /// that reach other blocks, and `own` is for all releases of each block.
    wide: Beyond,
    own: FxHashMap<u32, Beyond>,
    /// For an `mbarrier`, the length of the log and the time at the end of each phase.
    phases: Vec<(u32, u32)>,
    /// For an `mbarrier`, the bytes that it has been told to expect, less those of copies.
    expected: i64,
    /// For an `mbarrier`, a test that passed before the first phase ended.
    early: Option<u32>,
}

/// Prefixes of other logs, by log and scope, that the releases up to a position of this log
/// include. There is one entry for each position at which a prefix became longer.
#[derive(Debug, Clone, Default)]
struct Beyond(Vec<(u32, Arc<Lengths>)>);

type Lengths = FxHashMap<(u32, u8), u32>;

impl Beyond {
    fn add(&mut self, at: u32, refs: &[Ref]) {
        let last = self.0.last().map(|(_, lengths)| lengths.clone()).unwrap_or_default();
        let new = |r: &&Ref| last.get(&(r.log, r.scope)).is_none_or(|&length| length < r.length);
        if !refs.iter().any(|r| new(&r)) {
            return;
        }
        let mut lengths = Lengths::clone(&last);
        for r in refs {
            let length = lengths.entry((r.log, r.scope)).or_default();
            *length = r.length.max(*length);
        }
        self.0.push((at, Arc::new(lengths)));
    }

    /// Returns the prefixes that the releases in the first `length` positions include.
    fn by(&self, length: u32) -> impl Iterator<Item = Ref> {
        let end = self.0.partition_point(|&(at, _)| at < length);
        let last = self.0[..end].last().into_iter();
        last.flat_map(|(_, lengths)| {
            lengths.iter().map(|(&(log, scope), &length)| Ref { log, length, scope })
        })
    }
}

/// The logs of a launch, by address.
#[derive(Debug, Clone, Default)]
pub(super) struct Logs {
    logs: Vec<Log>,
    keys: FxHashMap<(u64, u64), u32>,
}

impl Logs {
    /// Finds the log of an address. For shared memory, the key consists of the block (counted from
    /// 1) and the offset; for global memory, it consists of 0 and the address.
    pub(super) fn get(&self, key: (u64, u64)) -> Option<u32> {
        self.keys.get(&key).copied()
    }

    /// Finds the log of an address, or creates it.
    pub(super) fn make(&mut self, key: (u64, u64)) -> u32 {
        *self.keys.entry(key).or_insert_with(|| {
            self.logs.push(Log::default());
            self.logs.len() as u32 - 1
        })
    }

    /// Replaces the log of an address with an empty one.
    pub(super) fn renew(&mut self, key: (u64, u64)) -> u32 {
        self.keys.remove(&key);
        self.make(key)
    }

    /// Drops the logs of a block's shared memory, because the next block starts without them.
    pub(super) fn forget(&mut self, block: u64) {
        if self.keys.keys().any(|k| k.0 == block) {
            self.keys.retain(|k, _| k.0 != block);
        }
    }

    pub(super) fn reset(&mut self) {
        *self = Logs::default();
    }

    pub(super) fn length(&self, log: u32) -> u32 {
        self.logs[log as usize].length
    }

    pub(super) fn push(&mut self, number: u32, lanes: u32, release: Arc<Release>) {
        let log = &mut self.logs[number as usize];
        let n = log.entries.len() as u32;
        let warp = (release.block, release.warp);
        log.warps.entry(warp).or_default().push(lanes, n);
        log.blocks.entry(release.block).or_default().push(1, n);
        if release.cluster.is_some() {
            log.met.entry(warp).or_default().push(lanes, n);
        }
        let others = release.refs.iter().filter(|(m, r)| m & lanes != 0 && r.log != number);
        let others: Vec<Ref> = others.map(|&(_, r)| r).collect();
        if !others.is_empty() {
            if release.scope > 0 {
                log.wide.add(log.length, &others);
            }
            log.own.entry(release.block).or_default().add(log.length, &others);
        }
        log.entries.push(LogEntry { at: log.length, lanes, release });
        log.length += 1;
    }

    /// Completes a phase of an `mbarrier`.
    pub(super) fn complete(&mut self, log: u32, phase: u64, time: u32) {
        let log = &mut self.logs[log as usize];
        log.length += 1;
        let end = (log.length, time);
        // Phases end in order; a gap means that a phase ended unobserved.
        if phase < 1 << 24 {
            log.phases.resize((phase as usize).max(log.phases.len()), end);
            log.phases.truncate(phase as usize);
            log.phases.push(end);
        }
    }

    /// Returns the length of the log that is visible to a thread that finds a phase complete.
    pub(super) fn phase(&self, log: u32, phase: u64) -> Option<u32> {
        self.logs[log as usize].phases.get(usize::try_from(phase).ok()?).map(|&(length, _)| length)
    }

    /// Changes the number of bytes that an `mbarrier` expects, less those of copies.
    pub(super) fn expect(&mut self, log: u32, bytes: i64) {
        self.logs[log as usize].expected += bytes;
    }

    /// Returns whether an `mbarrier` has completed a phase although it expects fewer bytes than the
    /// copies so far write.
    pub(super) fn expects_fewer(&self, log: u32) -> bool {
        let log = &self.logs[log as usize];
        log.expected < 0 && !log.phases.is_empty()
    }

    /// Records a test of an `mbarrier` that passed before the first phase ended.
    pub(super) fn pass_early(&mut self, log: u32, pc: u32) {
        self.logs[log as usize].early.get_or_insert(pc);
    }

    /// Returns a test of an `mbarrier` that passed before the first phase ended.
    pub(super) fn early(&self, log: u32) -> Option<u32> {
        self.logs[log as usize].early
    }

    /// Returns the offset of an `mbarrier` in shared memory.
    pub(super) fn offset(&self, log: u32) -> Option<u32> {
        self.keys.iter().find(|(_, at)| **at == log).map(|(key, _)| key.1 as u32)
    }

    /// Returns the number of phases that ended in a prefix of the log.
    pub(super) fn phases_by(&self, r: Ref) -> u32 {
        let phases = &self.logs[r.log as usize].phases;
        phases.partition_point(|&(end, _)| end <= r.length) as u32
    }

    /// Returns the number of phases that ended before a time.
    pub(super) fn phases_before(&self, log: u32, time: u32) -> u32 {
        self.logs[log as usize].phases.partition_point(|&(_, end)| end < time) as u32
    }

    /// Returns whether some release, by any thread, includes an access.
    pub(super) fn release(&self, e: &Entry) -> bool {
        self.logs.iter().flat_map(|log| &log.entries).any(|entry| {
            entry.release.scope > 1 && entry.release.covered(entry.lanes, e) == e.lanes
        })
    }

    /// Returns whether a thread of `block` that has acquired `refs` is ordered after all lanes of
    /// an entry. `known` is a mask of the entry's lanes that the thread is ordered after even
    /// without these releases.
    pub(super) fn know(
        &self,
        block: u32,
        refs: impl Iterator<Item = Ref>,
        e: &Entry,
        known: u32,
    ) -> bool {
        let mut missing = e.lanes & !known;
        let mut open: Vec<Ref> = refs.collect();
        // For each log and scope, only the longest prefix counts, because it contains the others.
        let mut seen = Lengths::default();
        while let Some(r) = open.pop() {
            let length = seen.entry((r.log, r.scope)).or_default();
            if r.length <= *length {
                continue;
            }
            *length = r.length;
            if self.knows_here(block, r, e, &mut missing) {
                return true;
            }
            let log = &self.logs[r.log as usize];
            if r.scope > 0 {
                open.extend(log.wide.by(r.length));
            }
            open.extend(log.own.get(&block).into_iter().flat_map(|own| own.by(r.length)));
        }
        false
    }

    /// Removes the lanes that a prefix of a log covers from `missing`. Returns whether no lane is
    /// left.
    fn knows_here(&self, block: u32, r: Ref, e: &Entry, missing: &mut u32) -> bool {
        let log = &self.logs[r.log as usize];
        if e.strength() == Strength::Async {
            // The copy completes with its phase, so the time of the last observed phase determines
            // the order. A copy from another block is visible only to waits whose scope includes
            // that block.
            if e.block != block && r.scope == 0 {
                return false;
            }
            let seen = log.phases.partition_point(|&(end, _)| end <= r.length);
            return e.log() == Some(r.log) && seen > 0 && log.phases[seen - 1].1 >= e.time;
        }
        let own = log.warps.get(&(e.block, e.warp())).into_iter();
        for releases in own.chain(log.blocks.get(&e.block)).chain(log.met.values()) {
            for LogEntry { lanes, release, .. } in
                releases.last(&log.entries, r.length, reach(block, r))
            {
                *missing &= !release.covered(*lanes, e);
                if *missing == 0 {
                    return true;
                }
            }
        }
        false
    }
}

/// Returns a predicate for the releases that reach a block. A release with block scope
/// reaches only its own block. Here, cluster scope counts as device scope.
fn reach(block: u32, r: Ref) -> impl Fn(&Release) -> bool {
    move |release| release.block == block || release.scope.min(r.scope) > 0
}
