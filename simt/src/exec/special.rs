//! Reads special registers.

use super::team::Team;
use super::warp::each;
use crate::inst::{Dst, Special};
use crate::observer::thread_of;

/// The number of warps for which a multiprocessor has space.
const SLOTS: u64 = 64;

impl Team<'_> {
    /// Copies a special register to a register. Most special registers have the same value in all
    /// lanes.
    pub(super) fn put_special(&mut self, w: usize, active: u32, dst: Dst, special: Special) {
        use Special::*;
        if let (Dst::W(_), Tid(0), true) = (dst, special, self.env.info.block[1..] == [1, 1]) {
            let first = self.warps[w].index * 32;
            let tids = std::array::from_fn(|lane| first + lane as u32);
            self.warps[w].regs.put_words(dst, active, &tids);
        } else if matches!(
            special,
            Tid(_) | LaneId | LaneMaskEq | LaneMaskLe | LaneMaskLt | LaneMaskGe | LaneMaskGt
        ) {
            each(active, |lane| {
                let value = self.special(w, lane, special);
                self.warps[w].regs.put(dst, lane, value);
            });
        } else {
            let value = self.special(w, 0, special);
            let regs = &mut self.warps[w].regs;
            regs.put_words(dst, active, &[value as u32; 32]);
            regs.put_doubles(dst, active, &[value; 32]);
        }
    }

    /// Returns the value of a special register for one lane.
    pub(super) fn special(&self, w: usize, lane: usize, special: Special) -> u64 {
        let info = &self.env.info;
        let warp = &self.warps[w];
        let block = &self.blocks[warp.block].id;
        let bit = 1u32 << lane;
        let axis = |v: [u32; 3], i: u8| u64::from(v[i as usize]);
        let over = |a: [u32; 3], b: [u32; 3], i: u8| u64::from(a[i as usize] / b[i as usize]);
        // The clock counts instructions, so it is monotonic, and the same in each run.
        let clock = self.executed;
        match special {
            Special::Tid(i) => axis(thread_of(info.block, warp.index * 32 + lane as u32), i),
            Special::Ntid(i) => axis(info.block, i),
            Special::Ctaid(i) => axis(block.id, i),
            Special::Nctaid(i) => axis(info.grid, i),
            Special::LaneId => lane as u64,
            // The slot of a warp is not its index in the block.
            Special::WarpId => {
                (u64::from(warp.index) + block.index * u64::from(info.warps()) + 1) % SLOTS
            }
            Special::NWarpId => SLOTS,
            Special::NWarpSize => 32,
            Special::SmId => block.index % u64::from(self.env.sm_count.max(1)),
            Special::NSmId => self.env.sm_count.into(),
            Special::GridId => 0,
            Special::LaneMaskEq => bit.into(),
            Special::LaneMaskLe => (bit | (bit - 1)).into(),
            Special::LaneMaskLt => (bit - 1).into(),
            Special::LaneMaskGe => (!(bit - 1)).into(),
            Special::LaneMaskGt => (!(bit | (bit - 1))).into(),
            Special::Clock => clock & 0xffff_ffff,
            Special::ClockHi => clock >> 32,
            Special::Clock64 | Special::GlobalTimer => clock,
            Special::GlobalTimerLo => clock & 0xffff_ffff,
            Special::GlobalTimerHi => clock >> 32,
            Special::ClusterId(i) => over(block.id, info.cluster, i),
            Special::NClusterId(i) => over(info.grid, info.cluster, i),
            Special::ClusterCtaid(i) => axis(thread_of(info.cluster, block.rank), i),
            Special::ClusterNctaid(i) => axis(info.cluster, i),
            Special::ClusterCtaRank => block.rank.into(),
            Special::ClusterNctaRank => info.cluster.iter().product::<u32>().into(),
            Special::IsExplicitCluster => u64::from(info.cluster != [1, 1, 1]),
            Special::DynamicSmemSize => self.env.dynamic_shared.into(),
            Special::TotalSmemSize => {
                info.shared.next_multiple_of(self.env.arch.shared_unit()).into()
            }
            Special::AggrSmemSize | Special::ReservedCap => info.reserved().end.into(),
            Special::ReservedBegin => info.reserved().start.into(),
            // Cooperative groups may expect this size, and the tested GPUs report it.
            Special::ReservedEnd => (info.reserved().start + 288).into(),
            Special::Module(offset) => self.env.info.module.wrapping_add(offset),
        }
    }
}
