//! Functions that the driver provides to a kernel: `printf` and `assert`.

use super::env::Fault;
use super::locate::Want;
use super::team::Team;
use super::warp::each;
use crate::TrapKind;
use crate::inst::{Host, HostCall, Slot, Window};
use crate::observer::{Access, AccessKind, At, Observer, Order, Same, Scope, Space, Stored};
use crate::place::count;
use crate::printf::{self, Values};

/// Limit on the length of a string, in bytes. A longer string probably lacks its terminating zero.
const LONGEST: u64 = 1 << 12;

impl Team<'_> {
    pub(super) fn host<O: Observer>(
        &mut self,
        w: usize,
        at: &At<'_>,
        call: &HostCall,
        obs: &mut O,
    ) -> Result<(), Fault> {
        let arg = |lane: usize, i: usize| self.slot(w, lane, call.args[i]);
        if call.host == Host::Assert {
            let lane = at.mask.trailing_zeros() as usize;
            let text = |i| self.text(w, lane, arg(lane, i)).unwrap_or_default();
            let others = match u64::from(at.mask.count_ones()) - 1 {
                0 => String::new(),
                n => format!(", nor for {} of its warp", count(n, "other thread")),
            };
            return Err(Fault::new(
                TrapKind::Assert,
                lane,
                format!(
                    "`{}` does not hold ({}:{}, `{}`){others}",
                    text(0),
                    text(1),
                    arg(lane, 2) as u32,
                    text(3)
                ),
            ));
        }
        each(at.mask, |lane| {
            let format = self.text(w, lane, arg(lane, 0)).unwrap_or_default();
            let mut values = Packed { team: self, w, lane, at: arg(lane, 1), read: 0 };
            let text = printf::format(&format, &mut values);
            obs.print(at, lane as u32, &text);
        });
        if let Some(Slot { offset, bytes }) = call.result {
            // The function returns the number of values, but kernels do not use that number.
            let local = self.env.info.kernel.local as usize;
            each(at.mask, |lane| {
                let start = lane * local + offset as usize;
                self.warps[w].local[start..start + bytes as usize].fill(0);
            });
            obs.access(
                at,
                &Access {
                    space: Space::Local,
                    kind: AccessKind::Store,
                    width: bytes,
                    vector: 1,
                    order: Order::Weak,
                    scope: Scope::Cta,
                    mask: at.mask,
                    wrote: at.mask,
                    stored: Stored::Same,
                    found: Stored::Unknown,
                    operand: Stored::Unknown,
                    same: Same::default(),
                    addrs: &[offset.into(); 32],
                    alloc: None,
                },
            );
        }
        Ok(())
    }

    /// Returns the value of an argument for one lane.
    fn slot(&self, w: usize, lane: usize, slot: Slot) -> u64 {
        let start = lane * self.env.info.kernel.local as usize + slot.offset as usize;
        let bytes = &self.warps[w].local[start..start + slot.bytes.min(8) as usize];
        bytes.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))
    }

    /// Reads up to 8 bytes at a generic address; `None` if the address is invalid.
    fn peek(&self, w: usize, lane: usize, address: u64, bytes: u32) -> Option<u64> {
        let mut addrs = [0; 32];
        addrs[lane] = address;
        let group = self.group(w, Window::Generic, &addrs, 1 << lane);
        let place = self.place(&group, Want::raw(bytes)).ok()?;
        Some(self.get(w, &place, lane, group.addrs[lane], bytes))
    }

    fn text(&self, w: usize, lane: usize, address: u64) -> Option<String> {
        let mut out = Vec::new();
        for i in 0..LONGEST {
            match self.peek(w, lane, address.wrapping_add(i), 1)? as u8 {
                0 => break,
                byte => out.push(byte),
            }
        }
        Some(String::from_utf8_lossy(&out).into_owned())
    }
}

/// The values of a `printf`, packed in order, each aligned to its size.
struct Packed<'t, 'e> {
    team: &'t Team<'e>,
    w: usize,
    lane: usize,
    at: u64,
    read: u64,
}

impl Values for Packed<'_, '_> {
    fn next(&mut self, bytes: u32) -> Option<u64> {
        self.read = self.read.next_multiple_of(bytes.into());
        let value = self.team.peek(self.w, self.lane, self.at.wrapping_add(self.read), bytes)?;
        self.read += u64::from(bytes);
        Some(value)
    }

    fn text(&mut self, address: u64) -> Option<String> {
        self.team.text(self.w, self.lane, address)
    }
}
