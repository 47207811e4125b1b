//! Releases through atomics, flags and `mbarrier`s, in a log for each address.
//!
//! A release appends the accesses that the thread is ordered after. An acquire records the length
//! of the log. The last of 1000 blocks can therefore be ordered after all other blocks without 1000
//! copies of a clock.

use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::exits::Exits;
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
    pub(super) exits: Exits,
    pub(super) refs: Vec<(u32, Ref)>,
    /// The scope; `None` if the release orders execution but no memory accesses.
    pub(super) scope: Option<u8>,
}

impl Release {
    /// Returns the lanes of an entry of the same warp that at least one of the releasing lanes was
    /// ordered after.
    fn covered(&self, lanes: u32, e: &Entry) -> u32 {
        let by_block = if e.time <= self.base { self.exits.by_block(e) } else { 0 };
        let by_warp = if e.time <= self.warp_base { self.exits.by_warp(e) } else { 0 };
        if (by_block | by_warp) == e.lanes {
            return e.lanes;
        }
        let own = if e.time <= self.time { lanes } else { 0 };
        let others = self.rows.iter().flat_map(|rows| {
            let rows = rows.iter().enumerate().filter(|(l, _)| lanes >> l & 1 == 1);
            rows.map(|(_, row)| {
                row.iter().enumerate().fold(0, |m, (l, &t)| m | u32::from(e.time <= t) << l)
            })
        });
        others.fold(own | by_block | by_warp, |all, m| all | m) & e.lanes
    }
}

/// The releases of a warp, in log order. A thread's later release includes its earlier ones, so only
/// its last release counts.
#[derive(Debug, Clone, Default)]
struct Releases {
    /// All lanes that released.
    lanes: u32,
    entries: Vec<LogEntry>,
}

impl Releases {
    /// Iterates backwards over the releases in a prefix of the log, until each lane has been found.
    /// Releases for which `reach` returns `false` are skipped.
    fn last(
        &self,
        length: u32,
        reach: impl Fn(&Release) -> bool,
    ) -> impl Iterator<Item = &LogEntry> {
        let mut left = self.lanes;
        back(&self.entries, length, reach).take_while(move |entry| {
            let more = left != 0;
            left &= !entry.lanes;
            more
        })
    }
}

/// Iterates backwards over the releases in a prefix of the log for which `reach` returns `true`.
fn back(
    entries: &[LogEntry],
    length: u32,
    reach: impl Fn(&Release) -> bool,
) -> impl Iterator<Item = &LogEntry> {
    let end = entries.partition_point(|entry| entry.at < length);
    entries[..end].iter().rev().filter(move |entry| reach(&entry.release))
}

#[derive(Debug, Clone)]
pub(super) struct LogEntry {
    /// The position of this entry in the sequence of releases and ends of phases.
    pub(super) at: u32,
    pub(super) lanes: u32,
    pub(super) release: Arc<Release>,
}

/// A prefix of a log that includes all accesses of a block up to a time, except those of threads
/// that have exited.
#[derive(Debug, Clone, Copy)]
pub(super) struct Full {
    pub(super) length: u32,
    pub(super) block: u32,
    pub(super) time: u32,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    /// Number of releases and ends of phases so far.
    pub(super) length: u32,
    /// For each position, the latest time of the releases up to this position.
    pub(super) latest: Vec<u32>,
    /// Releases by block and warp.
    warps: FxHashMap<(u32, u32), Releases>,
    /// For each block, the releases that follow another barrier of the block than the release before
    /// them. Such a barrier orders all lanes of the block in the same way.
    blocks: FxHashMap<u32, Vec<LogEntry>>,
    /// Initializations of `mbarrier`s that `fence.mbarrier_init` released, and their positions.
    inits: Vec<(u32, Entry)>,
    /// Prefixes of other logs that the releasing threads had acquired. `wide` is for the releases
    /// that reach other blocks, `own` is for all releases of each block, and `ran` is for those that
    /// order only execution.
    wide: Beyond,
    own: FxHashMap<u32, Beyond>,
    ran: Beyond,
    /// For an `mbarrier`, the length of the log and the time at the end of each phase.
    pub(super) phases: Vec<(u32, u32)>,
    /// For an `mbarrier`, the prefixes that include all accesses of a block up to a time.
    pub(super) full: Vec<Full>,
    /// For an `mbarrier`, the bytes that it has been told to expect, less those of copies.
    expected: i64,
    /// For an `mbarrier`, a test that passed before the first phase ended.
    early: Option<u32>,
}

impl Log {
    /// Appends a position, at which releases up to this time are visible.
    fn append(&mut self, time: u32) {
        self.length += 1;
        self.latest.push(self.latest.last().map_or(time, |last| time.max(*last)));
    }

    /// Returns whether a release includes prefixes of other logs.
    pub(super) fn leads_beyond(&self) -> bool {
        !(self.wide.0.is_empty() && self.own.is_empty() && self.ran.0.is_empty())
    }

    /// Returns the releases of a warp.
    pub(super) fn entries(&self, block: u32, warp: u32) -> &[LogEntry] {
        self.warps.get(&(block, warp)).map_or(&[], |own| &own.entries)
    }
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

    /// Creates a log that belongs to no address.
    pub(super) fn create(&mut self) -> u32 {
        self.logs.push(Log::default());
        self.logs.len() as u32 - 1
    }

    /// Finds the log of an address, or creates it.
    pub(super) fn make(&mut self, key: (u64, u64)) -> u32 {
        *self.keys.entry(key).or_insert_with(|| {
            self.logs.push(Log::default());
            self.logs.len() as u32 - 1
        })
    }

    /// Removes the releases that a store by this lane ends: a thread that reads the stored value is
    /// ordered after no release of another thread. An atomic read-modify-write ends none. PTX ISA,
    /// "Release and Acquire Patterns" and "Observation Order".
    pub(super) fn overwrite(&mut self, key: (u64, u64), own: (u32, u32), lane: u32) {
        let Some(log) = self.get(key) else { return };
        let warps = &self.logs[log as usize].warps;
        if warps.iter().any(|(of, releases)| *of != own || releases.lanes != 1 << lane) {
            self.keys.remove(&key);
        }
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

    pub(super) fn log(&self, log: u32) -> &Log {
        &self.logs[log as usize]
    }

    pub(super) fn log_mut(&mut self, log: u32) -> &mut Log {
        &mut self.logs[log as usize]
    }

    pub(super) fn length(&self, log: u32) -> u32 {
        self.logs[log as usize].length
    }

    /// Appends a release.
    pub(super) fn push(&mut self, number: u32, lanes: u32, release: Arc<Release>) {
        let log = &mut self.logs[number as usize];
        let entry = LogEntry { at: log.length, lanes, release: release.clone() };
        let block = log.blocks.entry(release.block).or_default();
        // A release through an older fence must not hide a later barrier of the block.
        let last = block.iter().rev().find(|last| last.release.scope >= release.scope);
        if last.is_none_or(|last| last.release.base < release.base) {
            block.push(entry.clone());
        }
        let own = log.warps.entry((release.block, release.warp)).or_default();
        own.lanes |= lanes;
        own.entries.push(entry);
        let others = release.refs.iter().filter(|(m, r)| m & lanes != 0 && r.log != number);
        let others: Vec<Ref> = others.map(|&(_, r)| r).collect();
        if !others.is_empty() {
            match release.scope {
                None => log.ran.add(log.length, &others),
                Some(scope) => {
                    if scope > 0 {
                        log.wide.add(log.length, &others);
                    }
                    log.own.entry(release.block).or_default().add(log.length, &others);
                }
            }
        }
        log.append(release.time);
    }

    /// Appends the release of a fence, at a later operation that publishes it. Does nothing if these
    /// lanes have made a release since the fence, because that release includes this one.
    pub(super) fn push_fenced(&mut self, number: u32, lanes: u32, release: Arc<Release>) {
        let own = self.logs[number as usize].warps.get(&(release.block, release.warp));
        let own = own.filter(|own| own.lanes & lanes != 0);
        let mut entries = own.into_iter().flat_map(|own| own.entries.iter().rev());
        let last = entries.find(|last| last.lanes & lanes != 0 && last.release.scope.is_some());
        let includes = |last: &LogEntry| {
            let (new, old) = (&release, &last.release);
            lanes & !last.lanes == 0 && new.time <= old.time && new.scope <= old.scope
        };
        if !last.is_some_and(includes) {
            self.push(number, lanes, release);
        }
    }

    /// Appends the initialization of an `mbarrier`, which `fence.mbarrier_init` released.
    pub(super) fn push_init(&mut self, number: u32, init: Entry) {
        let log = &mut self.logs[number as usize];
        if log.inits.iter().all(|(_, old)| *old != init) {
            log.inits.push((log.length, init));
            log.append(init.time);
        }
    }

    /// Completes a phase of an `mbarrier`.
    pub(super) fn complete(&mut self, log: u32, phase: u64, time: u32) {
        let log = &mut self.logs[log as usize];
        log.append(0);
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
        let all = self.logs.iter().flat_map(|log| log.warps.values());
        all.flat_map(|releases| &releases.entries).any(|entry| {
            let wide = entry.release.scope.is_some_and(|scope| scope > 1);
            let Release { block, warp, base, .. } = *entry.release;
            wide && block == e.block
                && match warp == e.warp() {
                    true => entry.release.covered(entry.lanes, e) == e.lanes,
                    false => e.time <= base,
                }
        })
    }

    /// Returns whether a thread of `block` that has acquired `refs` is ordered after all lanes of
    /// an entry. If `block` is `None`, the order is that of execution, in which all releases count,
    /// whatever their scopes. `known` is a mask of the entry's lanes that the thread is ordered
    /// after even without these releases.
    pub(super) fn know(
        &self,
        block: Option<u32>,
        refs: impl Iterator<Item = Ref> + Clone,
        e: &Entry,
        known: u32,
    ) -> bool {
        let mut missing = e.lanes & !known;
        // Mostly, a thread has acquired few releases, and one of them is the answer.
        if refs.clone().take(2).any(|r| self.knows_here(block, r, e, &mut missing)) {
            return true;
        }
        let (mut few, more) = (refs.clone().take(2), refs.clone().nth(2).is_some());
        if !more && few.all(|r| !self.logs[r.log as usize].leads_beyond()) {
            return false;
        }
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
            open.extend(self.beyond(block, r));
        }
        false
    }

    /// Returns the prefixes of other logs that the releases in a prefix of a log include.
    fn beyond(&self, block: Option<u32>, r: Ref) -> impl Iterator<Item = Ref> {
        let log = &self.logs[r.log as usize];
        let wide = (r.scope > 0 || block.is_none()).then_some(&log.wide);
        let own = block.and_then(|block| log.own.get(&block));
        let all = block.is_none().then(|| log.own.values().chain([&log.ran]));
        let refs = wide.into_iter().chain(own).chain(all.into_iter().flatten());
        refs.flat_map(move |refs| refs.by(r.length))
    }

    /// Removes the lanes that a prefix of a log covers from `missing`. Returns whether no lane is
    /// left.
    fn knows_here(&self, block: Option<u32>, r: Ref, e: &Entry, missing: &mut u32) -> bool {
        let log = &self.logs[r.log as usize];
        let reaches = r.scope > 0 || block.is_none_or(|block| e.block == block);
        if e.strength() == Strength::Async {
            // The copy completes with its phase, so the time of the last observed phase determines
            // the order. A copy from another block is visible only to waits whose scope includes
            // that block.
            if !reaches {
                return false;
            }
            let seen = log.phases.partition_point(|&(end, _)| end <= r.length);
            return e.log() == Some(r.log) && seen > 0 && log.phases[seen - 1].1 >= e.time;
        }
        let is = |&(at, init): &(u32, Entry)| at < r.length && init.of(0) == e.of(0);
        if reaches && log.inits.iter().any(is) {
            return true;
        }
        if let Some(own) = log.warps.get(&(e.block, e.warp())) {
            for LogEntry { lanes, release, .. } in own.last(r.length, reach(block, r)) {
                *missing &= !release.covered(*lanes, e);
                if *missing == 0 {
                    return true;
                }
            }
        }
        let all = log.blocks.get(&e.block).map_or(&[][..], Vec::as_slice);
        let last = back(all, r.length, reach(block, r)).next();
        if let Some(last) = last.filter(|last| e.time <= last.release.base) {
            *missing &= !last.release.exits.by_block(e);
        }
        *missing == 0
    }
}

/// Returns a predicate for the releases that reach a block. A release with block scope
/// reaches only its own block. Here, cluster scope counts as device scope.
fn reach(block: Option<u32>, r: Ref) -> impl Fn(&Release) -> bool {
    move |release| match (block, release.scope) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(block), Some(scope)) => release.block == block || scope.min(r.scope) > 0,
    }
}
