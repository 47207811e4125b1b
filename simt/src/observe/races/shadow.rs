//! Shadow memory, which records the last writer of each word, and its readers since then.

use rustc_hash::FxHashMap;

use super::strong::is_strong;

/// Words per line. A coalesced access by a warp to a whole line is stored as one entry.
pub(super) const LINE: usize = 32;
/// Lines per page.
const PAGE: usize = 32;

/// Maximum number of unordered accesses of one kind that are recorded for a word, besides the last
/// one. Any later access is unordered with about the same threads as the recorded accesses.
pub(super) const KEPT: usize = 64;

/// The strength of an access in PTX's memory model, apart from synchronization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// An ordinary access.
    Weak,
    /// A `.volatile` access.
    Volatile,
    /// An atomic operation, or a relaxed, acquiring or releasing access.
    Strong,
    /// An asynchronous copy, which only the wait for its `mbarrier` or group orders.
    Async,
}

/// One access by lanes of one warp, at one instruction and one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Linear index of the block.
    pub(super) block: u32,
    /// The time on the clock of its cluster; 0 means no access.
    pub(super) time: u32,
    /// The lanes of the access. For a copy, these are the lane that starts it (5 bits) and the
    /// number of the log of its `mbarrier` (27 bits); if the copy has no `mbarrier`, it is
    /// `u32::MAX` minus the index of the lane, which must wait for the copy.
    pub(super) lanes: u32,
    /// Packed fields, from the highest bit: instruction (19 bits), warp (5), bytes (4), strength
    /// (2), scope (2).
    info: u32,
}

impl Entry {
    pub(super) fn new(
        block: u32,
        time: u32,
        warp: u32,
        pc: u32,
        strength: Strength,
        scope: u32,
    ) -> Entry {
        let info = pc.min(0x7ffff) << 13 | (warp & 31) << 8 | 0xf0 | (strength as u32) << 2 | scope;
        Entry { block, time, lanes: 0, info }
    }

    pub(super) fn by(self, lanes: u32) -> Entry {
        Entry { lanes, ..self }
    }

    /// Returns the same access with another instruction.
    pub(super) fn at(self, pc: u32) -> Entry {
        Entry { info: self.info & 0x1fff | pc.min(0x7ffff) << 13, ..self }
    }

    /// Returns the same access, restricted to the given bytes of the word.
    #[inline]
    pub(super) fn of(self, bytes: u32) -> Entry {
        Entry { info: self.info & !0xf0 | bytes << 4, ..self }
    }

    pub(super) fn pc(&self) -> u32 {
        self.info >> 13
    }

    #[inline]
    pub(super) fn warp(&self) -> u32 {
        self.info >> 8 & 31
    }

    #[inline]
    pub(super) fn bytes(&self) -> u32 {
        self.info >> 4 & 15
    }

    #[inline]
    pub(super) fn strength(&self) -> Strength {
        match self.info >> 2 & 3 {
            0 => Strength::Weak,
            1 => Strength::Volatile,
            2 => Strength::Strong,
            _ => Strength::Async,
        }
    }

    pub(super) fn scope(&self) -> u32 {
        self.info & 3
    }

    #[inline]
    pub(super) fn same_but_lanes(&self, other: &Entry) -> bool {
        self.info == other.info && self.time == other.time && self.block == other.block
    }
}

/// The accesses to a word. Most words are written by at most one thread and read by at most one
/// warp.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) write: Entry,
    read: Entry,
    /// The number of the word's list of further entries, counted from 1; 0 if there is none.
    pub(super) more: u32,
}

/// Entries that do not fit into their cells.
#[derive(Debug, Clone, Default)]
pub(super) struct Spill {
    lists: Vec<More>,
    free: Vec<u32>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct More {
    pub(super) writes: Vec<Entry>,
    reads: Vec<Entry>,
    /// Atomics that later atomics observed.
    pub(super) observed: Vec<Entry>,
    /// Strong reads of the value that the last write stored.
    pub(super) seen: Vec<Entry>,
}

impl More {
    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty()
            && self.reads.is_empty()
            && self.observed.is_empty()
            && self.seen.is_empty()
    }
}

impl Spill {
    pub(super) fn list(&mut self, more: &mut u32) -> &mut More {
        if *more == 0 {
            *more = self.free.pop().unwrap_or_else(|| {
                self.lists.push(More::default());
                self.lists.len() as u32
            });
        }
        &mut self.lists[*more as usize - 1]
    }

    pub(super) fn drop_list(&mut self, more: &mut u32) {
        if *more != 0 {
            let list = &mut self.lists[*more as usize - 1];
            list.writes.clear();
            list.reads.clear();
            list.observed.clear();
            self.free.push(*more);
            *more = 0;
        }
    }
}

impl Cell {
    /// Creates the cell of a word that was accessed as part of a line.
    fn expanded(line: &Whole, word: usize) -> Cell {
        let entry = line.entry.by(1 << (line.first + word as u32 / line.words));
        if line.writes {
            Cell { write: entry, ..Cell::default() }
        } else {
            Cell { read: entry, ..Cell::default() }
        }
    }

    /// Records one lane's access. `known` returns whether the accessing thread is ordered after all
    /// lanes of an entry, and `harmless` whether the access cannot race with an entry. `race` is
    /// called for each other conflicting entry that the thread is not ordered after.
    #[inline]
    pub(super) fn access(
        &mut self,
        entry: Entry,
        writes: bool,
        atomic: bool,
        spill: &mut Spill,
        (mut known, harmless): (impl FnMut(&Entry) -> bool, impl Fn(&Entry) -> bool),
        mut race: impl FnMut(&Entry, bool),
    ) {
        let bytes = entry.bytes();
        let mut meet = |e: &Entry, wrote: bool| {
            if e.time != 0 && e.bytes() & bytes != 0 && !harmless(e) && !known(e) {
                race(e, wrote);
            }
        };
        meet(&self.write, true);
        if self.more != 0 {
            for e in &spill.list(&mut self.more).writes {
                meet(e, true);
            }
        }
        if writes {
            if self.more != 0 {
                spill.list(&mut self.more).seen.clear();
            }
            meet(&self.read, false);
            if self.more != 0 {
                for e in &spill.list(&mut self.more).reads {
                    meet(e, false);
                }
            }
            if is_strong(&entry) && self.write.time != 0 {
                let observes = atomic && !known(&self.write);
                self.write_strong(entry, observes, spill, known);
            } else if bytes == 15 {
                // An access that is ordered after this write is also ordered after everything that
                // precedes this write, and all races of this write were already reported.
                spill.drop_list(&mut self.more);
                self.write = entry;
                self.read = Entry::default();
            } else {
                self.write_bytes(entry, spill);
            }
            return;
        }
        let both = is_strong(&self.write) && is_strong(&entry);
        if self.write.time != 0 && both && !known(&self.write) {
            self.see(entry, spill);
        }
        if self.read.same_but_lanes(&entry) {
            self.read.lanes |= entry.lanes;
            return;
        }
        // A reader that is ordered after all earlier readers replaces them.
        let replaces = (self.read.bytes() & !bytes == 0 || self.read.time == 0)
            && meet_quietly(&mut known, &self.read);
        if replaces && self.more == 0 {
            self.read = entry;
            return;
        }
        let list = spill.list(&mut self.more);
        if let Some(e) = list.reads.iter_mut().find(|e| e.same_but_lanes(&entry)) {
            e.lanes |= entry.lanes;
            return;
        }
        list.reads.retain(|e| e.bytes() & !bytes != 0 || !known(e));
        if replaces {
            self.read = entry;
        } else if list.reads.len() < KEPT {
            list.reads.push(entry);
        }
        if list.is_empty() {
            spill.drop_list(&mut self.more);
        }
    }

    /// Converts the write of a copy into a write of its thread, after the thread has waited for the
    /// copy.
    pub(super) fn settle(&mut self, copy: &Entry, own: Entry, spill: &mut Spill) {
        let is = |e: &Entry| e.time != 0 && e.of(0) == copy.of(0);
        let settled = |e: &Entry| own.of(e.bytes());
        if is(&self.write) {
            self.write = settled(&self.write);
        } else if self.more != 0 {
            for e in spill.list(&mut self.more).writes.iter_mut().filter(|e| is(e)) {
                *e = settled(e);
            }
        }
    }

    /// Records a write to some bytes of a word, and keeps the entries of the other bytes.
    #[cold]
    fn write_bytes(&mut self, entry: Entry, spill: &mut Spill) {
        let left = |e: Entry| {
            (e.time != 0).then(|| e.of(e.bytes() & !entry.bytes())).filter(|e| e.bytes() != 0)
        };
        self.read = left(self.read).unwrap_or_default();
        let old = left(self.write);
        self.write = entry;
        if self.more == 0 && old.is_none() {
            return;
        }
        let list = spill.list(&mut self.more);
        for entries in [&mut list.reads, &mut list.writes, &mut list.observed] {
            *entries = entries.iter().filter_map(|&e| left(e)).collect();
        }
        list.writes.extend(old);
        if list.is_empty() {
            spill.drop_list(&mut self.more);
        }
    }

    pub(super) fn writers<'a>(&'a self, spill: &'a Spill) -> impl Iterator<Item = &'a Entry> {
        let more =
            self.more.checked_sub(1).map_or(&[][..], |i| &spill.lists[i as usize].writes[..]);
        std::iter::once(&self.write).filter(|e| e.time != 0).chain(more)
    }

    /// Returns the atomics that were observed by later atomics.
    #[inline]
    pub(super) fn observed<'a>(&self, spill: &'a Spill) -> &'a [Entry] {
        self.more.checked_sub(1).map_or(&[], |i| &spill.lists[i as usize].observed)
    }

    fn readers<'a>(&'a self, spill: &'a Spill) -> impl Iterator<Item = &'a Entry> {
        let more = self.more.checked_sub(1).map_or(&[][..], |i| &spill.lists[i as usize].reads[..]);
        std::iter::once(&self.read).filter(|e| e.time != 0).chain(more)
    }
}

fn meet_quietly(known: &mut impl FnMut(&Entry) -> bool, entry: &Entry) -> bool {
    entry.time == 0 || known(entry)
}

/// The shadow of a block's shared memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared {
    pub(super) cells: Vec<Cell>,
    pub(super) spill: Spill,
}

impl Shared {
    /// Clears the shadow for a new block, because all accesses of the previous blocks are complete.
    pub(super) fn reset(&mut self, bytes: u32) {
        self.cells.clear();
        self.cells.resize(bytes.div_ceil(4) as usize, Cell::default());
        self.spill = Spill::default();
    }
}

/// A whole line that the lanes of one warp accessed in lane order, with one instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    pub(super) entry: Entry,
    /// The lane that accessed the first word of the line.
    pub(super) first: u32,
    /// Words per lane.
    pub(super) words: u32,
    pub(super) writes: bool,
}

#[derive(Debug, Clone, Default)]
enum Line {
    #[default]
    Empty,
    Whole(Whole),
    Cells(Box<[Cell; LINE]>),
}

impl Line {
    fn cells(&mut self) -> &mut [Cell; LINE] {
        match self {
            Line::Empty => *self = Line::Cells(Box::new([Cell::default(); LINE])),
            Line::Whole(whole) => {
                let whole = *whole;
                *self =
                    Line::Cells(Box::new(std::array::from_fn(|word| Cell::expanded(&whole, word))));
            }
            Line::Cells(_) => {}
        }
        match self {
            Line::Cells(cells) => cells,
            _ => unreachable!("the line was just split into cells"),
        }
    }
}

/// The shadow of the global memory that the launch accessed.
#[derive(Debug, Clone, Default)]
pub(super) struct Global {
    pages: Vec<Page>,
    table: FxHashMap<u64, usize>,
    /// The page that was used last.
    last: (u64, usize),
    pub(super) spill: Spill,
}

#[derive(Debug, Clone)]
struct Page {
    number: u64,
    lines: Box<[Line; PAGE]>,
}

impl Global {
    /// Clears the shadow, because all accesses are complete.
    pub(super) fn reset(&mut self) {
        *self = Global::default();
    }

    fn line(&mut self, word: u64) -> &mut Line {
        let number = word / (LINE * PAGE) as u64;
        if self.last.0 != number || self.pages.is_empty() {
            let pages = &mut self.pages;
            let index = *self.table.entry(number).or_insert_with(|| {
                pages.push(Page { number, lines: Box::new(std::array::from_fn(|_| Line::Empty)) });
                pages.len() - 1
            });
            self.last = (number, index);
        }
        &mut self.pages[self.last.1].lines[word as usize / LINE % PAGE]
    }

    /// Records an access to a whole line. Returns `false` if the access must be recorded word by
    /// word.
    pub(super) fn whole(&mut self, word: u64, whole: Whole) -> bool {
        let line = self.line(word);
        if matches!(line, Line::Empty) {
            *line = Line::Whole(whole);
            return true;
        }
        false
    }

    pub(super) fn cell(&mut self, word: u64) -> (&mut Cell, &mut Spill) {
        self.line(word); // Sets `self.last` to the page of the word.
        let Global { pages, last, spill, .. } = self;
        let line = &mut pages[last.1].lines[word as usize / LINE % PAGE];
        (&mut line.cells()[word as usize % LINE], spill)
    }

    /// Merges the accesses by other blocks, which are unordered with all accesses recorded so far.
    /// For each pair that includes a write, calls `race` with the address of the word.
    pub(super) fn merge(
        &mut self,
        fork: Global,
        mut race: impl FnMut(&Entry, bool, &Entry, bool, u64),
    ) {
        for page in fork.pages {
            for (i, mut line) in page.lines.into_iter().enumerate() {
                let first = (page.number * PAGE as u64 + i as u64) * LINE as u64;
                let mine = self.line(first);
                match (&mine, &line) {
                    (_, Line::Empty) => continue,
                    (Line::Empty, Line::Whole(_)) => {
                        *mine = line;
                        continue;
                    }
                    (Line::Whole(a), Line::Whole(b)) if !a.writes && !b.writes => continue,
                    _ => {}
                }
                for (w, other) in line.cells().iter().enumerate() {
                    let (cell, spill) = self.cell(first + w as u64);
                    let address = (first + w as u64) * 4;
                    let (writes, reads): (Vec<Entry>, Vec<Entry>) = (
                        cell.writers(spill).copied().collect(),
                        cell.readers(spill).copied().collect(),
                    );
                    for b in other.writers(&fork.spill) {
                        for (a, wrote) in
                            writes.iter().map(|a| (a, true)).chain(reads.iter().map(|a| (a, false)))
                        {
                            if a.bytes() & b.bytes() != 0 {
                                race(a, wrote, b, true, address);
                            }
                        }
                    }
                    for b in other.readers(&fork.spill) {
                        for a in writes.iter().filter(|a| a.bytes() & b.bytes() != 0) {
                            race(a, true, b, false, address);
                        }
                    }
                    // One entry for each byte and kind of access is sufficient, because the blocks
                    // of later forks are unordered with all entries.
                    cell.adopt(other, &fork.spill, spill);
                }
            }
        }
    }
}

impl Cell {
    fn adopt(&mut self, other: &Cell, theirs: &Spill, spill: &mut Spill) {
        for (writes, entries) in [
            (true, other.writers(theirs).copied().collect::<Vec<_>>()),
            (false, other.readers(theirs).copied().collect()),
        ] {
            for e in entries {
                let covered = if writes {
                    self.writers(spill).fold(0, |m, e| m | e.bytes())
                } else {
                    self.readers(spill).fold(0, |m, e| m | e.bytes())
                };
                if e.bytes() & !covered == 0 {
                    continue;
                }
                let slot = if writes { &mut self.write } else { &mut self.read };
                if slot.time == 0 {
                    *slot = e;
                } else {
                    let list = spill.list(&mut self.more);
                    if writes { list.writes.push(e) } else { list.reads.push(e) }
                }
            }
        }
    }
}
