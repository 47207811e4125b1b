//! Error messages for invalid addresses. The messages give the element in the notation of the
//! source, its array, and the remedy.

use super::env::Fault;
use super::locate::{Group, Place, Want};
use super::team::Team;
use crate::TrapKind;
use crate::global::Miss;
use crate::inst::{Bounds, Memory};
use crate::model::{Buffer, Space};
use crate::place::{Places, a_number, count, element};

impl Team<'_> {
    pub(super) fn places(&self) -> Places<'_> {
        let info = &self.env.info;
        Places { kernel: info.kernel, params: info.params, module: info.module }
    }

    #[cold]
    pub(super) fn misaligned(&self, group: &Group, lane: usize, want: Want) -> Fault {
        let (address, bytes) = (group.addrs[lane], want.bytes());
        let name =
            self.places().name(group.space, address, want.width, self.near(group.space, address));
        let start = self.places().start(group.space, address, self.near(group.space, address));
        let instead = match (start, want.vector) {
            (Some((array, start)), _) if !start.is_multiple_of(bytes.into()) => format!(
                "{array} begins at address {start:#x}, which is not a multiple of {bytes} either, so \
                 access single elements, at least up to the first address that is a multiple of {bytes}"
            ),
            (_, 1) => "make each address a multiple of the element's size".to_string(),
            (_, n) => {
                format!("make the first index a multiple of {n}, or access one element at a time")
            }
        };
        let detail = format!(
            "{} access that begins at {name}, at address {address:#x}, which is not a \
             multiple of {bytes}: {instead}",
            a_number(bytes.into(), "byte")
        );
        Fault::new(TrapKind::Misaligned, lane, detail)
    }

    /// Refuses a store to memory that the host has protected.
    #[inline]
    pub(super) fn check_protected(
        &self,
        group: &Group,
        place: &Place<'_>,
        memory: &Memory,
    ) -> Result<(), Fault> {
        match place {
            Place::Slot(_, slot) if slot.protected => {}
            Place::Global => {}
            _ => return Ok(()),
        }
        let protected = |lane: &usize| {
            let here = self.env.global.find(group.addrs[*lane], 1);
            group.mask >> lane & 1 == 1 && here.is_some_and(|(_, slot)| slot.protected)
        };
        let Some(lane) = (0..32).find(protected) else { return Ok(()) };
        let (space, address) = (group.space, group.addrs[lane]);
        let name = self.places().name(space, address, memory.ty.bytes(), self.near(space, address));
        let detail = format!(
            "{name} is one of the elements that the launch adds, and the next launch on them would \
             add other values: store the result elsewhere"
        );
        Err(Fault::new(TrapKind::ReadOnly, lane, detail))
    }

    pub(super) fn near(&self, space: Space, address: u64) -> Option<Buffer> {
        (space == Space::Global).then(|| self.env.global.near(address)).flatten()
    }

    /// Returns the fault for an address that no live allocation contains.
    #[cold]
    pub(super) fn no_such_global(&self, address: u64, lane: usize, want: Want) -> Fault {
        let (bytes, width) = (u64::from(want.bytes()), want.width);
        let kind = match self.env.global.miss(address) {
            Miss::Freed => TrapKind::UseAfterFree,
            Miss::Beyond => TrapKind::OutOfBounds,
        };
        let Some(buffer) = self.env.global.near(address) else {
            let detail = format!(
                "address {address:#x} is in no allocation: did the host allocate this pointer?"
            );
            return Fault::new(kind, lane, detail);
        };
        let name = self.places().name(Space::Global, address, width, Some(buffer));
        let end = buffer.base + buffer.bytes;
        let holds = format!(
            "which has {} bytes, {} of {width}",
            buffer.bytes,
            count(buffer.bytes / u64::from(width), "element")
        );
        let detail = match kind {
            TrapKind::UseAfterFree => {
                format!("{name} is in a buffer that was freed, {holds}: free it after the last use")
            }
            _ if address < buffer.base => format!(
                "{name} lies {} before its buffer, {holds}: make sure that no index is negative",
                count(buffer.base - address, "byte")
            ),
            _ if address < end && buffer.bytes < width.into() => format!(
                "{name} extends {} beyond the end of its buffer, {holds}: access it with the type \
                 of its elements, which is smaller",
                count(address + bytes - end, "byte")
            ),
            _ if address < end => format!(
                "{name} extends {} beyond the end of its buffer, {holds}: check the last index \
                 of the access against the length",
                count(address + bytes - end, "byte")
            ),
            _ => format!(
                "{name} is beyond the end of its buffer, {holds}: check the index against the \
                 length first (`if (i < n)`)"
            ),
        };
        Fault::new(kind, lane, detail)
    }

    /// Returns the fault for an address outside shared memory, outside its array, or outside
    /// local memory.
    #[cold]
    pub(super) fn no_such_own(&self, space: Space, address: u64, lane: usize, want: Want) -> Fault {
        let info = &self.env.info;
        let offset = address & 0xff_ffff;
        let var = |from: u32, to: u32| {
            info.kernel.shared_vars.iter().find(|var| {
                var.offset == from && to == var.bytes.map_or(Bounds::DYNAMIC, |bytes| from + bytes)
            })
        };
        let (width, bounds) = (want.width, want.bounds);
        let detail = match space {
            Space::Shared if address >> 24 > self.blocks.len() as u64 => {
                format!("shared address {address:#x} is in no block of the cluster")
            }
            Space::Shared => match var(bounds.from, bounds.to) {
                Some(var) => {
                    let bytes = var.bytes.unwrap_or(info.shared.saturating_sub(var.offset));
                    let name = match offset.checked_sub(var.offset.into()) {
                        Some(offset) => element(&var.name, offset, width),
                        None => format!("an element before `{}`", var.name),
                    };
                    let instead = match var.bytes {
                        Some(_) => "make the array larger, or keep the index below its length",
                        None => {
                            "keep the index below the length, or pass a larger size at the launch"
                        }
                    };
                    format!(
                        "{name} is outside of `{}`, which has {bytes} bytes, {} of {width}: \
                         {instead}",
                        var.name,
                        count(u64::from(bytes / width), "element")
                    )
                }
                None => format!(
                    "{} bytes at shared address {address:#x}, but the block has {}: keep the \
                     index below the length, or pass a larger size at the launch",
                    want.bytes(),
                    count(info.shared.into(), "byte")
                ),
            },
            Space::Local => format!(
                "{} bytes at byte {address} of the thread's local arrays, which have {}: keep the \
                 index below the length",
                want.bytes(),
                count(info.kernel.local.into(), "byte")
            ),
            _ => format!(
                "{} bytes at byte {address} of the parameters, which have {}",
                want.bytes(),
                count(info.params.len() as u64, "byte")
            ),
        };
        Fault::new(TrapKind::OutOfBounds, lane, detail)
    }
}
