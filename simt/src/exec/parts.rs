//! The addresses of asynchronous copies and of `mbarrier`s, which have no element type. Error
//! messages give them in bytes.

use super::env::Fault;
use super::team::Team;
use crate::TrapKind;
use crate::global::Miss;
use crate::inst::Window;
use crate::model::Space;
use crate::place::count;

/// Memory that an instruction accesses.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// The source of a copy.
    Source {
        bytes: u32,
        align: u32,
    },
    /// The destination of a copy.
    Target {
        bytes: u32,
        align: u32,
    },
    Mbarrier,
}

impl Part {
    fn bytes(self) -> u32 {
        match self {
            Part::Source { bytes, .. } | Part::Target { bytes, .. } => bytes,
            Part::Mbarrier => 8,
        }
    }

    fn align(self) -> u32 {
        match self {
            Part::Source { align, .. } | Part::Target { align, .. } => align,
            Part::Mbarrier => 8,
        }
    }

    /// Describes the access; the name of a place completes the description.
    fn said(self) -> String {
        match self {
            Part::Source { bytes, .. } => {
                format!("a copy of {} from", count(bytes.into(), "byte"))
            }
            Part::Target { bytes, .. } => format!("a copy of {} to", count(bytes.into(), "byte")),
            Part::Mbarrier => "an mbarrier at".into(),
        }
    }
}

impl Team<'_> {
    /// Resolves and checks the address of one lane in shared memory. Returns the shared address.
    pub(super) fn shared_one(
        &self,
        w: usize,
        window: Window,
        lane: usize,
        addr: u64,
        part: Part,
    ) -> Result<u64, Fault> {
        let (space, found) = self.one(w, window, addr);
        if space != Space::Shared {
            let detail =
                format!("{} address {addr:#x}, which is not in shared memory", part.said());
            return Err(Fault::new(TrapKind::OutOfBounds, lane, detail));
        }
        let addr = found;
        if !addr.is_multiple_of(part.align().into()) {
            return Err(self.not_aligned(Space::Shared, addr, lane, part));
        }
        let (rank, offset) = (addr >> 24, addr & 0xff_ffff);
        let end = offset + u64::from(part.bytes());
        let outside = addr >> 40 != 0 || rank > self.blocks.len() as u64;
        if outside || end > u64::from(self.env.info.shared_room()) {
            return Err(self.beyond_shared(addr, lane, part));
        }
        Ok(addr)
    }

    #[cold]
    pub(super) fn not_aligned(&self, space: Space, address: u64, lane: usize, part: Part) -> Fault {
        let name = self.places().byte(space, address, self.near(space, address));
        let detail = format!(
            "{} {name}, at address {address:#x}, which is not a multiple of {}: choose an element \
             whose address is",
            part.said(),
            part.align()
        );
        Fault::new(TrapKind::Misaligned, lane, detail)
    }

    /// Returns the fault for a copy that is larger than shared memory.
    #[cold]
    pub(super) fn too_large(&self, bytes: u32, lane: usize) -> Fault {
        let detail = format!(
            "a copy of {bytes} bytes, but the block has {} of shared memory: copy fewer bytes at \
             once, or pass a larger size at the launch",
            count(self.env.info.shared.into(), "byte")
        );
        Fault::new(TrapKind::OutOfBounds, lane, detail)
    }

    #[cold]
    fn beyond_shared(&self, address: u64, lane: usize, part: Part) -> Fault {
        let info = &self.env.info;
        let name = self.places().byte(Space::Shared, address, None);
        let offset = address & 0xff_ffff;
        let array = info.kernel.shared_vars.iter().find(|var| {
            let from = u64::from(var.offset);
            from <= offset && var.bytes.is_none_or(|bytes| offset < from + u64::from(bytes))
        });
        let detail = match array {
            _ if address >> 24 > self.blocks.len() as u64 => {
                format!("{} address {address:#x}, which is in no block of the cluster", part.said())
            }
            Some(array) => format!(
                "{} {name}, which has {}: keep the index below the length, or pass a larger size \
                 at the launch",
                part.said(),
                count(array.bytes.unwrap_or(info.shared - array.offset).into(), "byte")
            ),
            None => format!(
                "{} {name}, of which the block has {}: keep the index below the length, or pass a \
                 larger size at the launch",
                part.said(),
                count(info.shared.into(), "byte")
            ),
        };
        Fault::new(TrapKind::OutOfBounds, lane, detail)
    }

    /// Returns the fault for a copy whose bytes no live allocation in global memory contains.
    #[cold]
    pub(super) fn no_such_copied(&self, address: u64, lane: usize, part: Part) -> Fault {
        let kind = match self.env.global.miss(address) {
            Miss::Freed => TrapKind::UseAfterFree,
            Miss::Beyond => TrapKind::OutOfBounds,
        };
        let said = part.said();
        let Some(buffer) = self.near(Space::Global, address) else {
            let detail = format!(
                "{said} address {address:#x}, which is in no allocation: did the host allocate \
                 this pointer?"
            );
            return Fault::new(kind, lane, detail);
        };
        let name = self.places().byte(Space::Global, address, Some(buffer));
        let end = buffer.base + buffer.bytes;
        let holds = count(buffer.bytes, "byte");
        let detail = match kind {
            TrapKind::UseAfterFree => {
                format!("{said} {name}, a buffer that was freed: free it after the last use")
            }
            _ if address < buffer.base => format!(
                "{said} {name}, which lies {} before the buffer: make sure that no index is \
                 negative",
                count(buffer.base - address, "byte")
            ),
            _ if address < end => format!(
                "{said} {name} ends {} beyond the buffer, which has {holds}: copy only the bytes \
                 that are left",
                count(address + u64::from(part.bytes()) - end, "byte")
            ),
            _ => format!(
                "{said} {name}, beyond the end of the buffer, which has {holds}: check the index \
                 against the length before the copy"
            ),
        };
        Fault::new(kind, lane, detail)
    }
}
