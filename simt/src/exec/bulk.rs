//! Performs the copies that the hardware executes asynchronously. Copies are checked and reported
//! when they are issued; the module `pending` decides when their bytes move.

use super::copies::{Engine, From, Pending};
use super::env::Fault;
use super::parts::Part;
use super::team::Team;
use super::warp::each;
use crate::TrapKind;
use crate::inst::{Address, Async, Window};
use crate::observer::{At, Copy, Observer, Space};

impl Team<'_> {
    pub(super) fn copy<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        copy: &Async,
        obs: &mut O,
    ) -> Result<(), Fault> {
        let mut result = Ok(());
        each(at.mask, |lane| {
            if result.is_ok() {
                result = self.copy_lane(w, at, copy, lane, obs);
            }
        });
        result
    }

    fn copy_lane<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        copy: &Async,
        lane: usize,
        obs: &mut O,
    ) -> Result<(), Fault> {
        let address = |a: &Address| self.addresses(w, 1 << lane, a)[lane];
        let (target, source) = (address(&copy.target), address(&copy.source));
        let bytes = self.lane(w, lane, copy.bytes) as u32;
        let align = if copy.bulk { 16 } else { bytes.max(1) };
        if copy.bulk && !bytes.is_multiple_of(16) {
            return Err(Fault::new(
                TrapKind::Misaligned,
                lane,
                format!(
                    "a copy of {bytes} bytes: the size of a bulk copy must be a multiple of 16"
                ),
            ));
        }
        // The source or the destination is in shared memory, so a copy cannot be larger than shared
        // memory. Check the size before allocating.
        if bytes > self.env.info.shared {
            return Err(self.too_large(bytes, lane));
        }
        let read = copy.read.map_or(bytes, |r| (self.lane(w, lane, r) as u32).min(bytes));
        let (from, source, data) = self.copied(w, copy, lane, source, [bytes, read, align])?;
        let told = Copy {
            lane: lane as u32,
            from,
            source,
            to: Space::Global,
            target,
            bytes,
            read,
            mbarrier: None,
            bulk: copy.bulk,
        };
        if copy.to == Window::Global {
            self.copy_out(&told, &data, align)?;
            obs.copy(at, &told);
            return Ok(());
        }
        let mbarrier = match &copy.mbarrier {
            Some((window, addr)) => {
                Some(self.shared_one(w, *window, lane, address(addr), Part::Mbarrier)?)
            }
            None => None,
        };
        let target = self.shared_one(w, copy.to, lane, target, Part::Target { bytes, align })?;
        // With multicast, the copy goes to the same offsets in each block that the mask names.
        let ranks = copy.multicast.map(|m| self.lane(w, lane, m) as u32 & 0xffff);
        let blocks = self.blocks.len();
        let own = ranks.is_none();
        for rank in 0..blocks {
            let here = match ranks {
                None => rank == 0,
                Some(mask) => mask >> rank & 1 == 1,
            };
            if !here {
                continue;
            }
            let place =
                |addr: u64| if own { addr } else { (rank as u64 + 1) << 24 | addr & 0xff_ffff };
            let target = place(target);
            let moves = Pending {
                to: self.shared_index(w, target),
                bytes: bytes as usize,
                from: data.clone(),
            };
            let mbarrier = mbarrier.map(place);
            obs.copy(at, &Copy { to: Space::Shared, target, mbarrier, ..told });
            if copy.bulk || mbarrier.is_some() {
                let (warp, pc) = (w, at.pc);
                let engine = Engine { warp, pc, lane, bytes, mbarrier, copy: moves, group: None };
                self.engage(engine, obs)?;
            } else {
                self.send(w, lane, moves);
            }
        }
        Ok(())
    }
    /// Returns the space and the address from which a copy reads, and its data.
    fn copied(
        &self,
        w: usize,
        copy: &Async,
        lane: usize,
        source: u64,
        [bytes, read, align]: [u32; 3],
    ) -> Result<(Space, u64, From), Fault> {
        Ok(match copy.from {
            // `st.async` reads a register.
            _ if copy.value.is_some() => {
                let value = copy.value.map_or(0, |value| self.lane(w, lane, value)).to_le_bytes();
                (Space::Param, 0, From::Value(value[..bytes as usize].to_vec()))
            }
            Window::Global => {
                let part = Part::Source { bytes: read, align };
                if !source.is_multiple_of(align.into()) {
                    return Err(self.not_aligned(Space::Global, source, lane, part));
                }
                // If a copy reads no bytes, its source may have any address.
                if read > 0 && self.env.global.find(source, read.into()).is_none() {
                    return Err(self.no_such_copied(source, lane, part));
                }
                (Space::Global, source, From::Global(source, read as usize))
            }
            window => {
                let part = Part::Source { bytes, align };
                let addr = self.shared_one(w, window, lane, source, part)?;
                (Space::Shared, addr, From::Shared(self.shared_index(w, addr)))
            }
        })
    }

    /// Performs a copy from shared to global memory. The result is visible immediately.
    fn copy_out(&mut self, copy: &Copy, data: &From, align: u32) -> Result<(), Fault> {
        let (target, lane, bytes) = (copy.target, copy.lane as usize, copy.bytes);
        let part = Part::Target { bytes, align };
        if !target.is_multiple_of(align.into()) {
            return Err(self.not_aligned(Space::Global, target, lane, part));
        }
        let start = match data {
            From::Shared(start) => *start,
            _ => 0,
        };
        self.settle_all();
        self.env
            .global
            .write(target, &self.shared[start..start + bytes as usize])
            .map_err(|_| self.no_such_copied(target, lane, part))
    }
}
