//! Threads that have exited. A barrier does not wait for them, and orders nothing that they did
//! after their own last barrier.

use std::sync::Arc;

use super::shadow::Entry;
use crate::observe::bits::lanes;

/// The exited threads of a block, if there are any.
#[derive(Debug, Clone, Default)]
pub(super) struct Exits(Option<Arc<Vec<Times>>>);

/// The exited lanes of a warp.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    exited: u32,
    /// For each of these lanes, the time up to which barriers of the whole warp and of the whole block
    /// order its accesses.
    warp: [u32; 32],
    block: [u32; 32],
}

impl Exits {
    /// Records that lanes of a warp exit, and the times of the last barriers of the warp and block.
    pub(super) fn exit(&mut self, (warp, warps): (u32, usize), mask: u32, times: (u32, u32)) {
        let all = Arc::make_mut(self.0.get_or_insert_default());
        all.resize(warps, Times::default());
        let clock = &mut all[warp as usize];
        clock.exited |= mask;
        for lane in lanes(mask) {
            clock.warp[lane as usize] = times.0.max(times.1);
            clock.block[lane as usize] = times.1;
        }
    }

    /// Applies a barrier of all lanes of a warp that have not exited. They were ordered after the
    /// other lanes up to the times in `rows`.
    pub(super) fn warp_barrier(&mut self, warp: usize, mask: u32, rows: Option<&[[u32; 32]; 32]>) {
        let Some(clock) = self.0.as_mut().and_then(|all| Arc::make_mut(all).get_mut(warp)) else {
            return;
        };
        for row in rows.into_iter().flat_map(|rows| lanes(mask).map(|l| &rows[l as usize])) {
            for exited in lanes(clock.exited) {
                let time = &mut clock.warp[exited as usize];
                *time = row[exited as usize].max(*time);
            }
        }
    }

    /// Applies a barrier of all threads of a block that have not exited, after that of a warp that
    /// takes part in it.
    pub(super) fn block_barrier(&mut self, warp: usize) {
        if let Some(clock) = self.0.as_mut().and_then(|all| Arc::make_mut(all).get_mut(warp)) {
            for lane in lanes(clock.exited) {
                let lane = lane as usize;
                clock.block[lane] = clock.warp[lane].max(clock.block[lane]);
            }
        }
    }

    /// Returns the lanes of an access that a later barrier of the whole block orders.
    #[inline]
    pub(super) fn by_block(&self, e: &Entry) -> u32 {
        self.ordered(e, |clock| &clock.block)
    }

    /// Returns the lanes of an access that a later barrier of the whole warp orders.
    #[inline]
    pub(super) fn by_warp(&self, e: &Entry) -> u32 {
        self.ordered(e, |clock| &clock.warp)
    }

    #[inline]
    fn ordered(&self, e: &Entry, times: fn(&Times) -> &[u32; 32]) -> u32 {
        let clock = self.0.as_ref().and_then(|all| all.get(e.warp() as usize));
        let Some(clock) = clock.filter(|clock| clock.exited & e.lanes != 0) else {
            return e.lanes;
        };
        let times = times(clock);
        lanes(e.lanes & clock.exited)
            .filter(|lane| e.time > times[*lane as usize])
            .fold(e.lanes, |ordered, lane| ordered & !(1 << lane))
    }
}
