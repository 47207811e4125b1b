//! Bounds of the accesses that a thread is ordered after. The bounds decide most comparisons with
//! accesses of its own block, so that the logs need not be searched.
//!
//! If many threads meet at an `mbarrier` again and again, each of their accesses is compared with the
//! arrivals of many other threads. Those of earlier phases are before the first bound, and those of
//! the current phase are after the second.

use super::clock::{BlockClock, Cluster};
use super::release::{Full, Logs, Ref};
use super::shadow::{Entry, Strength};

/// The bounds of the accesses of a thread's own block that the thread is ordered after through the
/// releases that it has acquired.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The thread is ordered after all accesses up to this time, except those of exited threads.
    all: u32,
    /// The thread is ordered after no access after this time.
    any: u32,
}

impl Bounds {
    /// Returns the bounds of a lane.
    pub(super) fn of(cluster: &Cluster, logs: &Logs, rank: usize, warp: u32, lane: u32) -> Bounds {
        let block = &cluster.blocks[rank];
        let own = block.warps[warp as usize].refs.iter();
        let own = own.filter(|(lanes, _)| lanes >> lane & 1 == 1).map(|&(_, r)| r);
        let refs = own.chain(block.refs.iter().copied());
        refs.fold(Bounds { all: 0, any: 0 }, |bounds, r| {
            let Bounds { all, any } = logs.bounds(block.index, r);
            Bounds { all: bounds.all.max(all), any: bounds.any.max(any) }
        })
    }

    /// Returns whether the thread is ordered after an access; `None` if the bounds do not tell.
    pub(super) fn decide(&self, block: &BlockClock, e: &Entry) -> Option<bool> {
        if e.block != block.index || e.strength() == Strength::Async {
            None
        } else if e.time > self.any {
            Some(false)
        } else if e.time <= self.all && e.lanes & block.warps[e.warp() as usize].exited == 0 {
            Some(true)
        } else {
            None
        }
    }
}

impl Logs {
    /// Returns the bounds for a thread of a block that has acquired a prefix of a log.
    fn bounds(&self, block: u32, r: Ref) -> Bounds {
        let log = self.log(r.log);
        let of = log.full.iter().rev();
        let full = of.filter(|full| full.block == block).find(|full| full.length <= r.length);
        let all = full.map_or(0, |full| full.time);
        match r.length.checked_sub(1) {
            _ if log.leads_beyond() => Bounds { all, any: u32::MAX },
            None => Bounds { all, any: 0 },
            Some(last) => Bounds { all, any: log.latest[last as usize] },
        }
    }

    /// Records the end of a phase of an `mbarrier` in which every thread of a block that has not
    /// exited has released.
    pub(super) fn fill(&mut self, number: u32, block: &BlockClock) {
        let log = self.log_mut(number);
        let begin = log.phases.iter().rev().nth(1).map_or(0, |&(length, _)| length);
        let mut time = u32::MAX;
        for (w, warp) in (0..).zip(&block.warps) {
            let mut left = warp.lanes & !warp.exited;
            let entries = log.entries(block.index, w).iter().rev();
            for entry in entries.take_while(|entry| entry.at >= begin) {
                if left == 0 {
                    break;
                }
                if entry.release.scope.is_some() && entry.lanes & left != 0 {
                    time = time.min(entry.release.time);
                    left &= !entry.lanes;
                }
            }
            if left != 0 {
                return;
            }
        }
        log.full.push(Full { length: log.length, block: block.index, time });
    }
}
