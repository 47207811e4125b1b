//! Global memory. Allocations are far apart, so that stray addresses hit none of them.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::model::Buffer;

/// Binary logarithm of the size of a range in bytes. Each allocation has its own range of 128 GiB.
const SHIFT: u32 = 37;
/// The offset of an allocation in its range. The rest of the range, below and above the allocation,
/// is unmapped.
const RED_ZONE: u64 = 1 << 20;
/// Maximum number of ranges, so that all addresses lie below the tags of the other windows.
const MOST: usize = (1 << 19) - 2;
/// Number of ranges that are used before freed ranges are reused, to catch use-after-free errors.
const FRESH: usize = 1 << 16;
/// The initial value of each byte, which gives a NaN in every float format and −1 in every signed
/// integer type.
pub(crate) const POISON: u8 = 0xff;

/// An allocation, stored as four-byte words that blocks on several threads may share. Relaxed loads
/// and stores compile to plain moves, and a race in the kernel is not a race in the interpreter.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    live: bool,
    /// Whether a store by a kernel is an error.
    pub(crate) protected: bool,
    /// Empty for sparse memory.
    pub(crate) words: Vec<AtomicU32>,
    sparse: Vec<Page>,
}

/// A page of sparse memory, which has one repeated value until it is written.
#[derive(Debug)]
struct Page {
    value: u32,
    words: OnceLock<Box<[AtomicU32]>>,
}

/// Bytes per page.
pub(crate) const PAGE: u64 = 1 << 20;
const WORDS: u64 = PAGE / 4;

impl Slot {
    /// Reads up to 8 bytes; the offset is a multiple of the width.
    #[inline]
    pub(crate) fn get(&self, offset: u64, width: u32) -> u64 {
        let word = |i: u64| match self.words.get(i as usize) {
            Some(word) => u64::from(word.load(Ordering::Relaxed)),
            None => u64::from(self.sparse_word(i)),
        };
        let i = offset / 4;
        match width {
            8 => word(i) | word(i + 1) << 32,
            4 => word(i),
            2 => word(i) >> (8 * (offset & 2)) & 0xffff,
            _ => word(i) >> (8 * (offset & 3)) & 0xff,
        }
    }

    /// Writes up to 8 bytes.
    #[inline]
    pub(crate) fn put(&self, offset: u64, width: u32, value: u64) {
        let word = |i: u64| match self.words.get(i as usize) {
            Some(word) => word,
            None => self.made_word(i),
        };
        let i = offset / 4;
        match width {
            8 => {
                word(i).store(value as u32, Ordering::Relaxed);
                word(i + 1).store((value >> 32) as u32, Ordering::Relaxed);
            }
            4 => word(i).store(value as u32, Ordering::Relaxed),
            _ => {
                let shift = 8 * (offset & 3) as u32;
                let mask = if width == 2 { 0xffff } else { 0xff };
                let set = |old: u32| old & !(mask << shift) | (value as u32 & mask) << shift;
                let _ = word(i)
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(set(old)));
            }
        }
    }
}

impl Slot {
    #[cold]
    fn sparse_word(&self, i: u64) -> u32 {
        let page = &self.sparse[(i / WORDS) as usize];
        page.words
            .get()
            .map_or(page.value, |words| words[(i % WORDS) as usize].load(Ordering::Relaxed))
    }

    /// Reads bytes, starting with word `first`. Bulk copies read megabytes, so the page is looked
    /// up once for all of its words.
    fn read_words(&self, mut first: u64, mut bytes: &mut [u8]) {
        if self.sparse.is_empty() {
            return put_words(&self.words[first as usize..], bytes);
        }
        while !bytes.is_empty() {
            let (page, at) = (&self.sparse[(first / WORDS) as usize], first % WORDS);
            let length = bytes.len().min(4 * (WORDS - at) as usize);
            let (here, rest) = bytes.split_at_mut(length);
            match page.words.get() {
                Some(words) => put_words(&words[at as usize..], here),
                None => put(std::iter::repeat(page.value), here),
            }
            (first, bytes) = (first + length as u64 / 4, rest);
        }
    }

    /// Returns a word of a page, and creates the page if necessary.
    #[cold]
    fn made_word(&self, i: u64) -> &AtomicU32 {
        let page = &self.sparse[(i / WORDS) as usize];
        let words =
            page.words.get_or_init(|| (0..WORDS).map(|_| AtomicU32::new(page.value)).collect());
        &words[(i % WORDS) as usize]
    }
}

/// All allocations of a device.
#[derive(Debug, Default)]
pub(crate) struct Global {
    slots: Vec<Slot>,
    free: VecDeque<usize>,
    used: u64,
}

/// The reason why an address is in no live allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Miss {
    Freed,
    Beyond,
}

impl Global {
    pub(crate) fn alloc(&mut self, bytes: u64, limit: u64) -> Result<(u32, u64), String> {
        if bytes > limit - self.used.min(limit) || bytes > (1 << SHIFT) - 2 * RED_ZONE {
            return Err(format!(
                "{bytes} bytes were requested, but the device has only {} of {limit} left",
                limit - self.used.min(limit)
            ));
        }
        let (index, base) = self.place()?;
        let no_room = || format!("this machine cannot allocate {bytes} bytes");
        // On a machine with 32-bit addresses, the length may exceed the address range.
        let count = usize::try_from(bytes.div_ceil(4)).map_err(|_| no_room())?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| no_room())?;
        words.resize_with(count, || AtomicU32::new(u32::from_ne_bytes([POISON; 4])));
        self.slots[index] = Slot { base, bytes, live: true, words, ..Slot::default() };
        self.used += bytes;
        Ok((index as u32, base))
    }

    /// Allocates memory whose pages are created when they are first written.
    pub(crate) fn alloc_sparse(
        &mut self,
        bytes: u64,
        word: impl Fn(u64) -> u32,
    ) -> Result<(u32, u64), String> {
        if bytes > (1 << SHIFT) - 2 * RED_ZONE {
            return Err(format!(
                "{bytes} bytes were requested, but sparse memory can have at most {}",
                (1u64 << SHIFT) - 2 * RED_ZONE
            ));
        }
        let (index, base) = self.place()?;
        let page = |i| Page { value: word(i), words: OnceLock::new() };
        let sparse = (0..bytes.div_ceil(PAGE)).map(page).collect();
        self.slots[index] = Slot { base, bytes, live: true, sparse, ..Slot::default() };
        Ok((index as u32, base))
    }

    /// Reserves a range for a new allocation. Returns the index of the range and the base address
    /// of the allocation.
    fn place(&mut self) -> Result<(usize, u64), String> {
        let index = if self.slots.len() < FRESH || (self.free.is_empty() && self.slots.len() < MOST)
        {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        } else {
            self.free.pop_front().ok_or("there are too many allocations")?
        };
        let base = ((index as u64 + 1) << SHIFT) + RED_ZONE;
        Ok((index, base))
    }

    pub(crate) fn free(&mut self, base: u64) -> Result<(u32, u64), String> {
        match self.slots.get_mut(index(base)) {
            Some(slot) if slot.base == base && slot.live => {
                slot.live = false;
                // Sparse memory does not count towards the limit.
                self.used -= if slot.sparse.is_empty() { slot.bytes } else { 0 };
                (slot.words, slot.sparse) = (Vec::new(), Vec::new());
                let bytes = slot.bytes;
                self.free.push_back(index(base));
                Ok((index(base) as u32, bytes))
            }
            Some(slot) if slot.base == base => Err(format!("address {base:#x} was already freed")),
            _ => Err(format!("address {base:#x} is not the start of an allocation")),
        }
    }

    /// Returns the live allocation that contains this many bytes at an address.
    #[inline]
    pub(crate) fn find(&self, address: u64, bytes: u64) -> Option<(u32, &Slot)> {
        let i = index(address);
        let slot = self.slots.get(i)?;
        let offset = address.wrapping_sub(slot.base);
        (slot.live && offset <= slot.bytes && bytes <= slot.bytes - offset)
            .then_some((i as u32, slot))
    }

    /// Makes stores by kernels to the allocation that contains an address an error, or allows them
    /// again.
    pub(crate) fn protect(&mut self, address: u64, protected: bool) {
        if let Some(slot) = self.slots.get_mut(index(address)) {
            slot.protected = protected;
        }
    }

    /// Returns the reason why an address is in no live allocation.
    pub(crate) fn miss(&self, address: u64) -> Miss {
        match self.slots.get(index(address)) {
            Some(slot) if !slot.live && address.wrapping_sub(slot.base) < slot.bytes => Miss::Freed,
            _ => Miss::Beyond,
        }
    }

    /// Returns the allocation in whose range an address lies. The allocation may have been freed.
    pub(crate) fn near(&self, address: u64) -> Option<Buffer> {
        let slot = self.slots.get(index(address))?;
        Some(Buffer { base: slot.base, bytes: slot.bytes })
    }

    /// Returns the allocation for a copy or fill by the host, or the error message.
    fn for_host(&self, address: u64, bytes: u64) -> Result<&Slot, String> {
        if let Some((_, slot)) = self.find(address, bytes) {
            return Ok(slot);
        }
        Err(match (self.near(address), self.miss(address)) {
            (None, _) => format!("address {address:#x} is in no allocation"),
            (Some(buffer), Miss::Freed) => {
                format!("address {address:#x} is in a freed allocation of {} bytes", buffer.bytes)
            }
            (Some(buffer), Miss::Beyond) => format!(
                "{bytes} bytes at byte {} of an allocation of {} bytes",
                address.wrapping_sub(buffer.base) as i64,
                buffer.bytes
            ),
        })
    }

    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let slot = self.for_host(address, bytes.len() as u64)?;
        let mut offset = address - slot.base;
        let mut rest = bytes;
        while let Some((first, tail)) = rest.split_first() {
            match rest.split_at_checked(4) {
                Some((word, tail)) if offset.is_multiple_of(4) => {
                    slot.put(
                        offset,
                        4,
                        u64::from(u32::from_le_bytes(word.try_into().expect("four bytes"))),
                    );
                    (offset, rest) = (offset + 4, tail);
                }
                _ => {
                    slot.put(offset, 1, u64::from(*first));
                    (offset, rest) = (offset + 1, tail);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), String> {
        let slot = self.for_host(address, bytes.len() as u64)?;
        let start = address - slot.base;
        if start.is_multiple_of(4) {
            slot.read_words(start / 4, bytes);
        } else {
            for (byte, offset) in bytes.iter_mut().zip(start..) {
                *byte = slot.get(offset, 1) as u8;
            }
        }
        Ok(())
    }

    pub(crate) fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<(), String> {
        let slot = self.for_host(address, bytes)?;
        let (mut at, end) = (address - slot.base, address - slot.base + bytes);
        while at < end {
            if at.is_multiple_of(4) && at + 4 <= end {
                slot.put(at, 4, u64::from(u32::from_le_bytes([byte; 4])));
                at += 4;
            } else {
                slot.put(at, 1, u64::from(byte));
                at += 1;
            }
        }
        Ok(())
    }
}

fn put_words(words: &[AtomicU32], bytes: &mut [u8]) {
    put(words.iter().map(|word| word.load(Ordering::Relaxed)), bytes);
}

/// Copies words to bytes; the last word may be copied in part.
fn put(mut words: impl Iterator<Item = u32>, bytes: &mut [u8]) {
    let (whole, part) = bytes.as_chunks_mut::<4>();
    for (bytes, word) in whole.iter_mut().zip(&mut words) {
        *bytes = word.to_le_bytes();
    }
    if let (false, Some(word)) = (part.is_empty(), words.next()) {
        part.copy_from_slice(&word.to_le_bytes()[..part.len()]);
    }
}

/// Returns whether two addresses lie in the range of one allocation.
#[inline]
pub(crate) fn same_range(a: u64, b: u64) -> bool {
    (a ^ b) >> SHIFT == 0
}

#[inline]
fn index(address: u64) -> usize {
    (address >> SHIFT).wrapping_sub(1) as usize
}
