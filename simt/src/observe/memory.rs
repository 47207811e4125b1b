//! The memory check: reads of bytes that nobody wrote, and the traps that concern addresses.
//!
//! Bounds, alignment and use after free stop the kernel by themselves; this observer turns the
//! trap into a finding, and adds what the core does not look for.

use rustc_hash::FxHashMap;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use super::bits::{Bits, for_words};
use super::finding::{Fault, Finding};
use super::found::{Found, Key};
use super::scene::Scene;
use crate::observer::{Access, At, Block, Copy, HostEvent, LaunchInfo, Observer, Space};
use crate::{Trap, TrapKind};

/// Finds reads of uninitialised memory, byte by byte: global, shared, and a thread's own.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    found: Found,
    scene: Option<Arc<Scene>>,
    /// What was written before this launch; forks share it.
    known: Arc<Vec<Written>>,
    /// What this launch wrote: a bit a byte, by 64-byte line.
    fresh: FxHashMap<u64, u64>,
    /// Shared memory of the running blocks.
    blocks: FxHashMap<u64, Bits>,
    /// The last of them, out of the table.
    current: (u64, Bits),
    shared: u32,
    /// Threads' own memory in the running blocks, one thread's behind the other's.
    locals: FxHashMap<u64, Bits>,
}

/// The bytes of an allocation that hold a value.
#[derive(Debug, Clone)]
struct Written {
    base: u64,
    bytes: u64,
    /// `None` where all of them do.
    bits: Option<Bits>,
}

impl Memory {
    /// An observer that has found nothing yet.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// What was found, in the order in which it was met.
    pub fn findings(&self) -> &[Finding] {
        self.found.findings()
    }

    /// The parts of a range of global memory that nobody has written, neither the host nor a
    /// launch that has ended, since it was allocated or [forgotten](crate::Gpu::forget).
    ///
    /// What the host did since the last launch is known after
    /// [`Gpu::report_host_events`](crate::Gpu::report_host_events).
    pub fn unwritten(&self, address: u64, bytes: u64) -> Vec<Range<u64>> {
        let mut parts: Vec<Range<u64>> = Vec::new();
        let Some(Written { base, bytes: all, bits: Some(bits) }) = self.written(address) else {
            return parts;
        };
        let end = address.saturating_add(bytes).min(base + all);
        // Allocations begin on a line.
        for_words(address, end - address, |line, mask| {
            let fresh = self.fresh.get(&line).copied().unwrap_or(0);
            let mut missing = mask & !(bits.word(line - base / 64) | fresh);
            while missing != 0 {
                let first = missing.trailing_zeros();
                let many = (missing >> first).trailing_ones();
                missing &= !((u64::MAX >> (64 - many)) << first);
                let start = line * 64 + u64::from(first);
                match parts.last_mut() {
                    Some(last) if last.end == start => last.end += u64::from(many),
                    _ => parts.push(start..start + u64::from(many)),
                }
            }
        });
        parts
    }

    fn find(&mut self, at: &At<'_>, lane: u32, space: Space, address: u64, what: &'static str) {
        let Some(scene) = &self.scene else { return };
        let key = Key::new(Fault::Uninitialised, Some(space), at.pc);
        self.found.add(key, 1, || {
            let width = scene.width(at.pc);
            let element = address - address % u64::from(width);
            Finding {
                space: Some(space),
                address,
                place: scene.place(space, element, width),
                cure: match space {
                    Space::Shared => {
                        "store a value (0 for a sum) in every element that is read, and let the \
                         block meet at a `__syncthreads()` in between"
                    }
                    Space::Global => {
                        "let the host or an earlier launch write it, or check the index against \
                         the length"
                    }
                    _ => "give the variable a value first",
                }
                .into(),
                ..scene.finding(
                    Fault::Uninitialised,
                    vec![scene.site(at.block.index, at.linear(lane), at.pc, what)],
                )
            }
        });
    }

    /// Shared memory of a block; blocks mostly run one after the other.
    #[inline]
    fn block(&mut self, index: u64) -> &mut Bits {
        if self.current.0 != index {
            let next =
                self.blocks.remove(&index).unwrap_or_else(|| Bits::new(u64::from(self.shared)));
            let (old, bits) = mem::replace(&mut self.current, (index, next));
            self.blocks.insert(old, bits);
        }
        &mut self.current.1
    }

    fn written(&self, address: u64) -> Option<&Written> {
        let at = self.known.partition_point(|w| w.base <= address);
        self.known[..at].last().filter(|w| address < w.base + w.bytes)
    }

    /// First byte of a range of global memory that holds nothing.
    fn first_unwritten(&self, address: u64, bytes: u64) -> Option<u64> {
        // Memory whose allocation was never announced counts as written.
        let written = self.written(address)?;
        let bits = written.bits.as_ref()?;
        let clear = bits.first_clear(address - written.base, bytes)?;
        let mut missing = None;
        // Something is missing: what this launch wrote decides.
        for_words(written.base + clear, address + bytes - written.base - clear, |line, mask| {
            let mut mask = mask & !self.fresh.get(&line).copied().unwrap_or(0);
            while mask != 0 && missing.is_none() {
                let byte = line * 64 + u64::from(mask.trailing_zeros());
                mask &= mask - 1;
                missing = bits.first_clear(byte - written.base, 1).map(|_| byte);
            }
        });
        missing
    }

    fn write_global(&mut self, address: u64, bytes: u64) {
        if self.written(address).is_some_and(|w| w.bits.is_some()) {
            for_words(address, bytes, |line, mask| *self.fresh.entry(line).or_default() |= mask);
        }
    }

    /// What this launch wrote is known to the next.
    fn settle(&mut self) {
        let fresh = mem::take(&mut self.fresh);
        if fresh.is_empty() {
            return;
        }
        let known = Arc::make_mut(&mut self.known);
        for (line, mask) in fresh {
            let at = known.partition_point(|w| w.base <= line * 64);
            if let Some(Written { base, bits: Some(bits), .. }) = known[..at].last_mut() {
                // Allocations begin on a line.
                bits.set_word(line - *base / 64, mask);
            }
        }
    }

    fn shared(
        &mut self,
        at: &At<'_>,
        lane: u32,
        address: u64,
        bytes: u64,
        reads: bool,
        writes: bool,
    ) {
        let (peer, offset) = Access::peer(address);
        let block = match (peer, &self.scene) {
            (Some(rank), Some(scene)) => scene.peer(&at.block, rank),
            _ => at.block.index,
        };
        let bits = self.block(block);
        let missing = if reads { bits.first_clear(u64::from(offset), bytes) } else { None };
        if writes {
            bits.set(u64::from(offset), bytes);
        }
        if let Some(byte) = missing {
            // One report a place: from here on it counts as written.
            self.block(block).set(byte, 1);
            self.find(at, lane, Space::Shared, byte, "read");
        }
    }
}

impl Memory {
    /// A thread's own memory: the addresses of lanes are offsets.
    #[cold]
    fn local(&mut self, at: &At<'_>, access: &Access<'_>) {
        let room = u64::from(at.kernel.local);
        let threads = at.shape.iter().product::<u32>();
        let bytes = u64::from(access.bytes());
        for lane in lanes(access.mask) {
            let all = self.locals.entry(at.block.index);
            let all = all.or_insert_with(|| Bits::new(room * u64::from(threads)));
            let offset = access.addrs[lane as usize];
            let from = u64::from(at.linear(lane)) * room + offset;
            let missing = all.first_clear(from, bytes).filter(|_| access.kind.reads());
            if access.kind.writes() || missing.is_some() {
                all.set(from, bytes);
            }
            if let Some(byte) = missing {
                self.find(at, lane, Space::Local, byte - (from - offset), "read");
            }
        }
    }
}

impl Observer for Memory {
    fn fork(&self) -> Self {
        Memory {
            found: self.found.fork(),
            scene: self.scene.clone(),
            known: self.known.clone(),
            shared: self.shared,
            current: (u64::MAX, Bits::default()),
            ..Memory::default()
        }
    }

    fn merge(&mut self, fork: Self) {
        self.found.merge(fork.found);
        for (line, mask) in fork.fresh {
            *self.fresh.entry(line).or_default() |= mask;
        }
    }

    fn host(&mut self, event: HostEvent) {
        self.settle();
        let known = Arc::make_mut(&mut self.known);
        match event {
            HostEvent::Alloc { base, bytes, .. } => {
                let at = known.partition_point(|w| w.base < base);
                known.insert(at, Written { base, bytes, bits: Some(Bits::new(bytes)) });
            }
            HostEvent::Free { base, .. } => known.retain(|w| w.base != base),
            HostEvent::Write { base, bytes } => {
                let at = known.partition_point(|w| w.base <= base);
                if let Some(w) = known[..at].last_mut() {
                    if base == w.base && bytes >= w.bytes {
                        w.bits = None;
                    } else if let Some(bits) = &mut w.bits {
                        bits.set(base - w.base, bytes);
                    }
                }
            }
            HostEvent::Forget { base, bytes, of } => {
                let at = known.partition_point(|w| w.base < of.base);
                // An allocation that nobody announced held something so far.
                if known.get(at).is_none_or(|w| w.base != of.base) {
                    known.insert(at, Written { base: of.base, bytes: of.bytes, bits: None });
                }
                let bits = known[at].bits.get_or_insert_with(|| Bits::full(of.bytes));
                bits.clear(base - of.base, bytes);
            }
            HostEvent::Read { .. } => {}
        }
    }

    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
        self.settle();
        self.found.begin(launch.kernel.name(), launch.number);
        self.locals.clear();
        self.blocks.clear();
        self.current = (u64::MAX, Bits::default());
        self.shared = launch.shared_room();
        self.scene = Some(Arc::new(Scene::new(launch)));
    }

    fn launch_end(&mut self, _: &LaunchInfo<'_>) {
        self.settle();
    }

    fn block_begin(&mut self, launch: &LaunchInfo<'_>, block: &Block) {
        let shared = u64::from(self.shared);
        let bits = self.block(block.index);
        bits.reset(shared);
        // What the system keeps in its own is its business.
        if launch.kernel.reserved {
            bits.set(launch.reserved().start.into(), launch.reserved().len() as u64);
        }
    }

    fn block_end(&mut self, _: &LaunchInfo<'_>, block: &Block) {
        // A peer of the cluster may still look at it only where that is an error anyway.
        self.blocks.remove(&block.index);
        self.locals.remove(&block.index);
    }

    #[inline]
    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {
        let reads = access.kind.reads();
        let bytes = u64::from(access.bytes());
        match access.space {
            Space::Shared => {
                for lane in lanes(access.mask) {
                    let writes = access.wrote >> lane & 1 == 1;
                    self.shared(at, lane, access.addrs[lane as usize], bytes, reads, writes);
                }
            }
            Space::Global => {
                let first = access.addrs[access.mask.trailing_zeros() as usize];
                // Most warps read memory that the host filled.
                if let Some(w) = self.written(first)
                    && w.bits.is_none()
                    && lanes(access.mask)
                        .all(|l| access.addrs[l as usize].wrapping_sub(w.base) < w.bytes)
                {
                    return;
                }
                for lane in lanes(access.mask) {
                    let address = access.addrs[lane as usize];
                    if reads && let Some(byte) = self.first_unwritten(address, bytes) {
                        self.find(at, lane, Space::Global, byte, "read");
                    }
                    if access.wrote >> lane & 1 == 1 {
                        self.write_global(address, bytes);
                    }
                }
            }
            Space::Local => self.local(at, access),
            Space::Const | Space::Param => {}
        }
    }

    fn copy(&mut self, at: &At<'_>, copy: &Copy) {
        for (space, address, bytes, reads) in [
            (copy.from, copy.source, u64::from(copy.read), true),
            (copy.to, copy.target, u64::from(copy.bytes), false),
        ] {
            if bytes == 0 {
                continue;
            }
            match space {
                Space::Shared => self.shared(at, copy.lane, address, bytes, reads, !reads),
                Space::Global if reads => {
                    if let Some(byte) = self.first_unwritten(address, bytes) {
                        self.find(at, copy.lane, Space::Global, byte, "bulk read");
                    }
                }
                Space::Global => self.write_global(address, bytes),
                _ => {}
            }
        }
    }

    fn trap(&mut self, trap: &Trap) {
        let fault = match trap.kind {
            TrapKind::OutOfBounds => Fault::OutOfBounds,
            TrapKind::UseAfterFree => Fault::UseAfterFree,
            TrapKind::Misaligned => Fault::Misaligned,
            TrapKind::ReadOnly => Fault::ReadOnly,
            _ => return,
        };
        self.found.trap(fault, trap, "access");
    }
}

/// The lanes of a mask.
#[inline]
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        (lane < 32).then(|| {
            mask &= mask - 1;
            lane
        })
    })
}
