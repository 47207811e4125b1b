//! The memory check, which finds invalid addresses and reads of bytes that were never written.
//!
//! An access that is out of bounds, misaligned or in freed memory already stops the kernel. This
//! observer turns the trap into a finding. The check also finds reads of bytes that were never
//! written, which the interpreter itself does not check.

use rustc_hash::FxHashMap;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use super::bits::{Bits, for_words, lanes};
use super::earlier::{self, Earlier};
use super::finding::{Fault, Finding};
use super::found::{Found, Key};
use super::held::Held;
use super::parts::Parts;
use super::scene::Scene;
use super::uses;
use crate::observer::{
    Access, At, Block, Complete, Copy, HostEvent, LaunchInfo, Observer, Space, Unwritten, Use,
};
use crate::{Trap, TrapKind};

/// Finds reads of uninitialized global, shared and local memory, byte by byte.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    found: Found,
    scene: Option<Arc<Scene>>,
    /// Bytes written before this launch, by allocation. Forks share them.
    known: Arc<Vec<Written>>,
    /// For each 64-byte line, a mask of the bytes that this launch wrote.
    fresh: FxHashMap<u64, u64>,
    /// Written bytes of shared memory, for each block of a running cluster.
    blocks: FxHashMap<u64, Bits>,
    /// Blocks that have ended, in clusters that have not.
    ended: Vec<Block>,
    /// Index and written bytes of the block that was used last, which is kept outside the table.
    current: (u64, Bits),
    shared: u32,
    /// Written bytes of local memory, for each running block, thread by thread.
    locals: FxHashMap<u64, Bits>,
    held: Held,
    earlier: Earlier,
}

/// The initialized bytes of an allocation.
#[derive(Debug, Clone)]
struct Written {
    base: u64,
    bytes: u64,
    /// `None` if all bytes are initialized.
    bits: Option<Bits>,
}

impl Memory {
    /// Creates an observer without findings.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Returns the findings, in the order of detection.
    pub fn findings(&self) -> &[Finding] {
        self.found.findings()
    }

    /// Returns the parts of a range of global memory that have not been written since they were
    /// allocated or [forgotten](crate::Gpu::forget). Only writes by the host and by launches that
    /// have ended are taken into account.
    ///
    /// To include the operations of the host since the last launch, first call
    /// [`Gpu::report_host_events`](crate::Gpu::report_host_events).
    pub fn unwritten(&self, address: u64, bytes: u64) -> Vec<Range<u64>> {
        let mut parts: Vec<Range<u64>> = Vec::new();
        let Some(Written { base, bytes: all, bits: Some(bits) }) = self.written(address) else {
            return parts;
        };
        let end = address.saturating_add(bytes).min(base + all);
        // Allocations are aligned to lines.
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
        let key = Key::new(Fault::Uninitialized, Some(space), at.pc);
        self.found.add(key, 1, || {
            let (place, _) = scene.element(space, address, at.pc);
            Finding {
                space: Some(space),
                address,
                place,
                cure: match space {
                    Space::Shared if scene.copies() => {
                        "let copies or stores write every element that is read, and put a wait for \
                         the copies or a `__syncthreads()` before the reads"
                    }
                    Space::Shared => {
                        "let a thread store a value (0 for a sum) in every element that is read, \
                         with a `__syncthreads()` in between if another thread reads it"
                    }
                    Space::Global => {
                        "let the host or an earlier launch write it, or check the index against \
                         the length"
                    }
                    _ => "initialize the variable first",
                }
                .into(),
                ..scene.finding(
                    Fault::Uninitialized,
                    vec![scene.site(at.block.index, at.linear(lane), at.pc, what)],
                )
            }
        });
    }

    /// Returns the written bytes of a block's shared memory. The last block is kept outside the
    /// table, because blocks mostly run one after another.
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

    /// Returns the first byte in a range of global memory that was never written.
    fn first_unwritten(&self, address: u64, bytes: u64) -> Option<u64> {
        // Memory without a reported allocation counts as written.
        let written = self.written(address)?;
        let bits = written.bits.as_ref()?;
        let clear = bits.first_clear(address - written.base, bytes)?;
        let mut missing = None;
        // Some bytes were not written before this launch, but this launch may have written them.
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

    /// Adds the writes of this launch to the bytes that are initialized before the next launch.
    /// Returns these writes.
    fn settle(&mut self) -> FxHashMap<u64, u64> {
        let fresh = mem::take(&mut self.fresh);
        if fresh.is_empty() {
            return fresh;
        }
        let known = Arc::make_mut(&mut self.known);
        for (&line, &mask) in &fresh {
            let at = known.partition_point(|w| w.base <= line * 64);
            if let Some(Written { base, bits: Some(bits), .. }) = known[..at].last_mut() {
                // Allocations are aligned to lines.
                bits.set_word(line - *base / 64, mask);
            }
        }
        fresh
    }

    /// Returns the index of the block that owns a shared address, and the offset in its shared
    /// memory.
    fn owner(&self, at: &At<'_>, address: u64) -> (u64, u64) {
        let (peer, offset) = Access::peer(address);
        let block = match (peer, &self.scene) {
            (Some(rank), Some(scene)) => scene.peer(&at.block, rank),
            _ => at.block.index,
        };
        (block, offset.into())
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
        let (block, offset) = self.owner(at, address);
        let bits = self.block(block);
        let missing = if reads { bits.first_clear(offset, bytes) } else { None };
        if writes {
            bits.set(offset, bytes);
        }
        if let Some(byte) = missing {
            let bits = self.block(block);
            let clear = |byte| bits.first_clear(byte, 1).is_some();
            let parts = Parts::of(at, byte, offset..offset + bytes, &clear);
            if let Some(byte) = self.held.carry(at, lane, (Space::Shared, offset), parts) {
                // Each byte is reported once, so it counts as written from here on.
                self.block(block).set(byte, 1);
                self.find(at, lane, Space::Shared, byte, "read");
            }
        }
    }
}

impl Memory {
    /// Reports the uses of values that a load has read from uninitialized memory.
    #[cold]
    fn used(&mut self, at: &At<'_>, users: u32, load: u32) {
        for user in lanes(users) {
            if let Some((lane, (space, address))) = self.held.byte(at, user, load) {
                self.find(&At { pc: load, ..*at }, lane, space, address, "read");
            }
        }
    }

    /// Checks an access to local memory. A lane's address is an offset in its thread's memory.
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
            if access.kind.writes() {
                all.set(from, bytes);
            }
            if let Some(byte) = missing {
                let clear = |byte| all.first_clear(byte, 1).is_some();
                let parts = Parts::of(at, byte, from..from + bytes, &clear);
                if parts.used.is_some() {
                    all.set(from, bytes);
                }
                if let Some(byte) = self.held.carry(at, lane, (Space::Local, offset), parts) {
                    self.find(at, lane, Space::Local, byte - (from - offset), "read");
                }
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
            earlier: self.earlier.fork(),
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
                // An allocation that was not reported counted as written until this event.
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
        self.earlier.begin(launch.kernel);
        self.found.begin(launch.kernel.name(), launch.number);
        self.locals.clear();
        self.held = Held::default();
        self.blocks.clear();
        self.ended.clear();
        self.current = (u64::MAX, Bits::default());
        self.shared = launch.shared_room();
        self.scene = Some(Arc::new(Scene::new(launch)));
    }

    fn launch_end(&mut self, _: &LaunchInfo<'_>) {
        let wrote = self.settle();
        self.earlier.end(wrote);
    }

    fn block_begin(&mut self, launch: &LaunchInfo<'_>, block: &Block) {
        let shared = u64::from(self.shared);
        let bits = self.block(block.index);
        bits.reset(shared);
        // The system's shared memory counts as initialized.
        if launch.kernel.reserved {
            bits.set(launch.reserved().start.into(), launch.reserved().len() as u64);
        }
    }

    fn block_end(&mut self, launch: &LaunchInfo<'_>, block: &Block) {
        self.locals.remove(&block.index);
        self.held.forget(block.index);
        // Until the cluster ends, other blocks may access this memory; the race check reports that.
        let size: u32 = launch.cluster.iter().product();
        self.ended.push(*block);
        let peer = |other: &Block| other.cluster == block.cluster;
        if self.ended.iter().filter(|other| peer(other)).count() == size as usize {
            for peer in self.ended.extract_if(.., |other| peer(other)) {
                self.blocks.remove(&peer.index);
            }
        }
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
                // A fast path, because most warps read memory that the host wrote.
                if let Some(w) = self.written(first)
                    && w.bits.is_none()
                    && lanes(access.mask)
                        .all(|l| access.addrs[l as usize].wrapping_sub(w.base) < w.bytes)
                {
                    return;
                }
                for lane in lanes(access.mask) {
                    let address = access.addrs[lane as usize];
                    if let (Some(byte), Some(scene)) =
                        (self.earlier.touched(at, lane, address, bytes), &self.scene)
                    {
                        let finding = || earlier::finding(scene, at, lane, byte, reads);
                        self.found.add(earlier::key(at), 1, finding);
                    }
                    if reads && let Some(byte) = self.first_unwritten(address, bytes) {
                        let clear = |byte| self.first_unwritten(byte, 1).is_some();
                        let parts = Parts::of(at, byte, address..address + bytes, &clear);
                        if let Some(byte) =
                            self.held.carry(at, lane, (Space::Global, address), parts)
                        {
                            self.find(at, lane, Space::Global, byte, "read");
                        }
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

    fn tracks(&self) -> bool {
        true
    }

    #[inline]
    fn missing(&mut self) -> Option<Box<[u64; 32]>> {
        self.held.last.take()
    }

    #[cold]
    fn carried(&mut self, at: &At<'_>, lane: u32, space: Space, address: u64, bytes: u8) {
        for byte in (0..8).filter(|i| bytes >> i & 1 == 1).map(|i| address + i) {
            match space {
                Space::Shared => {
                    let (block, offset) = self.owner(at, byte);
                    self.block(block).clear(offset, 1);
                }
                // Memory that the host or an earlier launch wrote still counts as written.
                Space::Global => for_words(byte, 1, |line, mask| {
                    if let Some(fresh) = self.fresh.get_mut(&line) {
                        *fresh &= !mask;
                    }
                }),
                Space::Local => {
                    let from = u64::from(at.linear(lane)) * u64::from(at.kernel.local) + byte;
                    if let Some(all) = self.locals.get_mut(&at.block.index) {
                        all.clear(from, 1);
                    }
                }
                Space::Const | Space::Param => {}
            }
        }
    }

    #[cold]
    fn unset(&mut self, at: &At<'_>, lanes: u32, of: Use) {
        if let Unwritten::Load(pc) = of.from {
            self.used(at, lanes, pc);
            return;
        }
        let Some(scene) = self.scene.as_ref().filter(|_| !of.is_of_shuffle()) else { return };
        let key = Key::new(Fault::Unset, None, at.pc);
        self.found.add(key, lanes.count_ones().into(), || uses::of_variable(scene, at, lanes, of));
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

    fn launch_wait(&mut self, at: &At<'_>) {
        self.earlier.wait(at);
    }

    fn complete(&mut self, complete: &Complete<'_>) {
        self.earlier.meet(complete);
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
