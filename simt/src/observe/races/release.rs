//! What threads hand over through atomics, flags and `mbarrier`s: a log for each address.
//!
//! A release appends what the thread knows; an acquire remembers how much of the log there was.
//! So the last of a thousand blocks knows them all, without a thousand copies of a clock.

use std::collections::HashMap;
use std::sync::Arc;

use super::shadow::{Entry, Strength};

/// The first part of a log, known to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ref {
    pub(super) log: u32,
    pub(super) length: u32,
    /// 0 block, 1 cluster, 2 device, 3 system.
    pub(super) scope: u8,
}

/// What lanes of a warp knew when they released.
#[derive(Debug, Clone)]
pub(super) struct Release {
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) time: u32,
    pub(super) base: u32,
    pub(super) warp_base: u32,
    pub(super) rows: Option<Box<[[u32; 32]; 32]>>,
    /// Blocks of the cluster by rank, and when their warps last met.
    #[allow(clippy::type_complexity)] // The two parts of one thing, used in one place.
    pub(super) cluster: Option<(Vec<u32>, Arc<Vec<[u32; 32]>>)>,
    pub(super) refs: Vec<(u32, Ref)>,
    pub(super) scope: u8,
}

impl Release {
    /// Whether a lane that released this knew all of an entry to be over.
    fn covers(&self, lane: u32, e: &Entry) -> bool {
        if e.block == self.block {
            if e.time <= self.base {
                return true;
            }
            if e.warp() == self.warp {
                let row = self.rows.as_ref().map(|r| &r[lane as usize]);
                let all = (0..32).filter(|l| e.lanes >> l & 1 == 1).all(|l| {
                    e.time <= self.warp_base
                        || l == lane && e.time <= self.time
                        || row.is_some_and(|row| e.time <= row[l as usize])
                });
                if all {
                    return true;
                }
            }
        }
        self.cluster.as_ref().is_some_and(|(blocks, met)| {
            let rank = blocks.iter().position(|&b| b == e.block);
            rank.is_some_and(|r| e.time <= met[r][e.warp() as usize])
        })
    }
}

#[derive(Debug, Clone, Default)]
struct Log {
    /// Releases and ends of phases so far.
    length: u32,
    /// Each release with its place in the log and its lane.
    entries: Vec<(u32, u32, Arc<Release>)>,
    by_block: HashMap<u32, Vec<u32>>,
    /// Entries whose threads had acquired something themselves.
    nested: Vec<u32>,
    /// Of an `mbarrier`: the length at the end of each phase, and when that was.
    phases: Vec<(u32, u32)>,
}

/// The logs of a launch, by address.
#[derive(Debug, Clone, Default)]
pub(super) struct Logs {
    logs: Vec<Log>,
    keys: HashMap<(u64, u64), u32>,
}

impl Logs {
    /// The log of an address. Keys are the block (from 1) and offset in shared memory, 0 and the
    /// address in global memory.
    pub(super) fn get(&self, key: (u64, u64)) -> Option<u32> {
        self.keys.get(&key).copied()
    }

    /// The same, made where there is none yet.
    pub(super) fn make(&mut self, key: (u64, u64)) -> u32 {
        *self.keys.entry(key).or_insert_with(|| {
            self.logs.push(Log::default());
            self.logs.len() as u32 - 1
        })
    }

    /// A log that begins anew.
    pub(super) fn renew(&mut self, key: (u64, u64)) -> u32 {
        self.keys.remove(&key);
        self.make(key)
    }

    /// Forgets the addresses of a block's shared memory: the next block finds them new.
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

    pub(super) fn push(&mut self, log: u32, lane: u32, release: Arc<Release>) {
        let log = &mut self.logs[log as usize];
        let n = log.entries.len() as u32;
        log.by_block.entry(release.block).or_default().push(n);
        if release.cluster.is_some() || !release.refs.is_empty() {
            log.nested.push(n);
        }
        log.entries.push((log.length, lane, release));
        log.length += 1;
    }

    /// A phase of an `mbarrier` is complete.
    pub(super) fn complete(&mut self, log: u32, phase: u64, time: u32) {
        let log = &mut self.logs[log as usize];
        log.length += 1;
        let end = (log.length, time);
        // Phases come in order; a gap would be a phase that completed unseen.
        if phase < 1 << 24 {
            log.phases.resize((phase as usize).max(log.phases.len()), end);
            log.phases.truncate(phase as usize);
            log.phases.push(end);
        }
    }

    /// How much of the log whoever finds a phase complete may see.
    pub(super) fn phase(&self, log: u32, phase: u64) -> Option<u32> {
        self.logs[log as usize].phases.get(usize::try_from(phase).ok()?).map(|&(length, _)| length)
    }

    /// Whether a thread of `block` that has acquired `refs` knows all of an entry to be over.
    pub(super) fn know(&self, block: u32, refs: impl Iterator<Item = Ref>, e: &Entry) -> bool {
        let mut open: Vec<Ref> = refs.collect();
        let mut seen: Vec<Ref> = Vec::new();
        while let Some(r) = open.pop() {
            if seen.iter().any(|s| s.log == r.log && s.scope >= r.scope && s.length >= r.length) {
                continue;
            }
            seen.push(r);
            if self.knows_here(block, r, e, &mut open) {
                return true;
            }
        }
        false
    }

    fn knows_here(&self, block: u32, r: Ref, e: &Entry, open: &mut Vec<Ref>) -> bool {
        let log = &self.logs[r.log as usize];
        if e.strength() == Strength::Async {
            // The copy is over with its phase.
            if e.lanes == r.log
                && log.phases.iter().any(|&(end, time)| end <= r.length && time >= e.time)
            {
                return true;
            }
        }
        let within = |i: &&u32| log.entries[**i as usize].0 < r.length;
        let covers = |i: u32| {
            let (_, lane, release) = &log.entries[i as usize];
            // A narrow scope reaches the own block only (clusters count as the device here).
            let reach = release.block == block || release.scope.min(r.scope) > 0;
            reach && e.strength() != Strength::Async && release.covers(*lane, e)
        };
        if let Some(own) = log.by_block.get(&e.block)
            && own.iter().take_while(within).any(|&i| covers(i))
        {
            return true;
        }
        for &i in log.nested.iter().take_while(within) {
            if covers(i) {
                return true;
            }
            let (_, lane, release) = &log.entries[i as usize];
            open.extend(
                release
                    .refs
                    .iter()
                    .filter(|(m, n)| m >> lane & 1 == 1 && n.log != r.log)
                    .map(|&(_, n)| n),
            );
        }
        false
    }
}
