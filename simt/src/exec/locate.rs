//! Resolves addresses to memory spaces, and checks alignment and bounds.

use super::env::{Fault, tag};
use super::team::Team;
use super::warp::{FULL, each};
use crate::alu::fast::Doubles;
use crate::global::{Slot, same_range};
use crate::inst::{Address, Bounds, Memory, Src, Window};
use crate::model::Space;

/// Lanes whose addresses lie in one space, and their addresses in that space.
pub(super) struct Group {
    pub(super) space: Space,
    pub(super) mask: u32,
    pub(super) addrs: Doubles,
}

/// The size of each lane's access.
#[derive(Debug, Clone, Copy)]
pub(super) struct Want {
    /// Bytes per element.
    pub(super) width: u32,
    /// Elements per lane.
    pub(super) vector: u32,
    pub(super) bounds: Bounds,
}

impl Want {
    pub(super) fn new(memory: &Memory, vector: usize) -> Want {
        Want { width: memory.ty.bytes(), vector: vector as u32, bounds: memory.bounds }
    }

    /// Describes an untyped access of this many bytes.
    pub(super) fn raw(bytes: u32) -> Want {
        Want { width: 1, vector: bytes, bounds: Bounds::default() }
    }

    pub(super) fn bytes(&self) -> u32 {
        self.width * self.vector
    }
}

/// The location of the data that a group accesses.
pub(super) enum Place<'g> {
    /// The data is in the allocation with this number.
    Slot(u32, &'g Slot),
    /// The data is in allocations that are looked up for each lane.
    Global,
    Shared,
    Local,
    Param,
}

impl<'e> Team<'e> {
    /// Returns the addresses of the active lanes.
    pub(super) fn addresses(&self, w: usize, active: u32, addr: &Address) -> Doubles {
        let offset = addr.offset as u64;
        let regs = &self.warps[w].regs;
        let mut out = [0; 32];
        match addr.base {
            Src::D(r) => {
                let base = &regs.d[r as usize];
                for i in 0..32 {
                    out[i] = base[i].wrapping_add(offset);
                }
            }
            Src::W(r) => {
                let base = &regs.w[r as usize];
                for i in 0..32 {
                    out[i] = u64::from(base[i].wrapping_add(offset as u32));
                }
            }
            Src::Imm(base) => out = [base.wrapping_add(offset); 32],
            other => each(active, |i| out[i] = self.lane(w, i, other).wrapping_add(offset)),
        }
        out
    }

    /// Returns the space of one address, and the address in that space.
    pub(super) fn one(&self, w: usize, window: Window, addr: u64) -> (Space, u64) {
        let (space, base) = space_of(window).map_or_else(|| tagged(addr), |space| (space, 0));
        let addr = addr.wrapping_sub(base);
        let own = space == Space::Shared && addr >> 24 == self.own_rank(w);
        (space, if own { addr & 0xff_ffff } else { addr })
    }

    /// Returns a group: the lowest lane in `mask`, and all other lanes in `mask` whose addresses
    /// lie in the same space.
    pub(super) fn group(&self, w: usize, window: Window, addrs: &Doubles, mask: u32) -> Group {
        let Some(space) = space_of(window) else { return self.generic(w, addrs, mask) };
        let mut group = Group { space, mask, addrs: *addrs };
        if space == Space::Shared {
            self.own(w, &mut group);
        }
        group
    }

    fn generic(&self, w: usize, addrs: &Doubles, mask: u32) -> Group {
        let tag_of = |lane: usize| addrs[lane] >> 56;
        let first = mask.trailing_zeros() as usize;
        let mut same = 0;
        each(mask, |lane| same |= u32::from(tag_of(lane) == tag_of(first)) << lane);
        let (space, base) = tagged(addrs[first]);
        let mut group = Group { space, mask: same, addrs: addrs.map(|a| a.wrapping_sub(base)) };
        if space == Space::Shared {
            self.own(w, &mut group);
        }
        group
    }

    /// Removes the rank from addresses in the thread's own block.
    fn own(&self, w: usize, group: &mut Group) {
        if self.blocks.len() == 1 && group.addrs.iter().all(|a| a >> 24 == 0) {
            return;
        }
        let rank = self.own_rank(w);
        for addr in &mut group.addrs {
            if *addr >> 24 == rank {
                *addr &= 0xff_ffff;
            }
        }
    }

    /// Returns the rank of a warp's block in an address, in which ranks count from 1.
    fn own_rank(&self, w: usize) -> u64 {
        u64::from(self.blocks[self.warps[w].block].id.rank) + 1
    }

    /// Checks the alignment and bounds of all lanes, and returns the location of their data.
    pub(super) fn place(&self, group: &Group, want: Want) -> Result<Place<'e>, Fault> {
        let env = self.env;
        let Group { space, mask, addrs } = group;
        let bytes = want.bytes();
        let low = if *mask == FULL {
            addrs.iter().fold(0, |all, a| all | a)
        } else {
            let mut all = 0;
            each(*mask, |i| all |= addrs[i]);
            all
        };
        if low & u64::from(bytes - 1) != 0 {
            let lane = first(*mask, |i| addrs[i] & u64::from(bytes - 1) != 0);
            return Err(self.misaligned(group, lane, want));
        }
        let (from, limit) = match space {
            Space::Global | Space::Const => {
                let (mut least, mut most) = (u64::MAX, 0);
                if *mask == FULL {
                    for a in addrs {
                        least = least.min(*a);
                        most = most.max(*a);
                    }
                } else {
                    each(*mask, |i| {
                        least = least.min(addrs[i]);
                        most = most.max(addrs[i]);
                    });
                }
                if same_range(least, most)
                    && let Some((id, slot)) = env.global.find(least, u64::from(bytes))
                    && most - slot.base <= slot.bytes - u64::from(bytes)
                {
                    return Ok(Place::Slot(id, slot));
                }
                let misses = |i: usize| env.global.find(addrs[i], u64::from(bytes)).is_none();
                let lane = first(*mask, misses);
                return match misses(lane) {
                    true => Err(self.no_such_global(addrs[lane], lane, want)),
                    false => Ok(Place::Global),
                };
            }
            Space::Shared => {
                let Bounds { from, to } = want.bounds;
                let all = if to == u32::MAX { env.info.shared_room() } else { env.info.shared };
                (from.into(), all.min(to).into())
            }
            Space::Local => (0, u64::from(env.info.kernel.local)),
            Space::Param => (0, env.info.params.len() as u64),
        };
        let blocks = self.blocks.len() as u64;
        let inside = |a: u64| {
            let (offset, rank) =
                if *space == Space::Shared { (a & 0xff_ffff, a >> 24) } else { (a, 0) };
            let within = offset >= from && offset <= limit && offset + u64::from(bytes) <= limit;
            a <= 1 << 40 && within && rank <= blocks
        };
        let mut fine = false;
        if *mask == FULL {
            let (least, most) =
                addrs.iter().fold((u64::MAX, 0), |(least, most), a| (least.min(*a), most.max(*a)));
            fine = most < 1 << 24 && inside(most) && least >= from;
        }
        if !fine {
            let lane = first(*mask, |i| !inside(addrs[i]));
            if !inside(addrs[lane]) {
                return Err(self.no_such_own(*space, addrs[lane], lane, want));
            }
        }
        Ok(match space {
            Space::Shared => Place::Shared,
            Space::Local => Place::Local,
            _ => Place::Param,
        })
    }

    /// Converts a checked shared address to an index in the team's shared memory.
    #[inline]
    pub(super) fn shared_index(&self, w: usize, addr: u64) -> usize {
        let rank = match addr >> 24 {
            0 => self.blocks[self.warps[w].block].id.rank as usize,
            rank => rank as usize - 1,
        };
        rank * self.stride + (addr & 0xff_ffff) as usize
    }
}

/// Returns the first lane of a mask for which a condition holds, or, if there is none, the first
/// lane of the mask.
fn first(mask: u32, f: impl Fn(usize) -> bool) -> usize {
    (0..32).find(|i| mask >> i & 1 == 1 && f(*i)).unwrap_or(mask.trailing_zeros() as usize & 31)
}

/// Returns the space of a window; `None` for generic addresses.
fn space_of(window: Window) -> Option<Space> {
    Some(match window {
        Window::Global => Space::Global,
        Window::Shared | Window::SharedCluster => Space::Shared,
        Window::Local => Space::Local,
        Window::Const => Space::Const,
        Window::Param => Space::Param,
        Window::Generic => return None,
    })
}

/// Returns the space of a generic address, and the generic address at which the space begins.
fn tagged(addr: u64) -> (Space, u64) {
    match addr >> 56 << 56 {
        tag::SHARED => (Space::Shared, tag::SHARED),
        tag::LOCAL => (Space::Local, tag::LOCAL),
        tag::PARAM => (Space::Param, tag::PARAM),
        _ => (Space::Global, 0),
    }
}
