//! Loads that return an older value. In PTX, a relaxed or volatile load in global memory may return
//! an older value of a word, unless the write of the newer value happens before the load. Under an
//! adversarial schedule, such a load returns the value from before the last change of its word, for
//! about half of the changes that its thread need not see.
//!
//! The team of a thread is its block or cluster. The simulation errs on the side of the new value:
//! * Only the last change of a word of 4 or 8 bytes by a strong store or an atomic can be missed.
//! * A team sees its own changes, and what was written before the launch. It misses another change
//!   at most once, and never after one of its threads has read the new value, so polls end.
//! * A fence or acquire of device scope shows its thread everything that was written before any value
//!   that its team has read with a strong load or atomic.
//! * A barrier, or a fence or acquire of narrower scope, shows a thread what those of device scope
//!   have shown any thread of its team.
//!
//! PTX also orders all `fence.sc`, such as `__threadfence()`, one after another: of two threads that
//! each store a word, execute such a fence and load the other's word, one sees the other's store.
//! Therefore, a team that has changed a word after another team has read it sees everything at its
//! next fence. Where a team misses a change, its earlier fence counts as one before that change, so
//! all other teams then see everything: the fences of two teams must not both count as earlier.
//!
//! `stale` applies these rules to the instructions.

use rustc_hash::FxHashMap;

use super::rng::Rng;
use crate::Schedule;

/// Limit on the number of words that are remembered.
const MOST: usize = 1 << 12;

/// Limit on the number of teams that have read a change. After that, no team misses it.
const MOST_READERS: usize = 1 << 6;

/// The strong accesses to global memory in a launch.
#[derive(Debug, Default)]
pub(super) struct Changes {
    words: FxHashMap<u64, Word>,
    /// The number of strong writes so far, which serves as the time.
    pub(super) now: u64,
    missed: Missed,
    /// Whether some accesses were not recorded, so that fences must show everything.
    pub(super) unknown: bool,
    /// A generator of its own, so that other choices do not depend on older values.
    rng: Rng,
}

/// The last times at which a team missed a change.
#[derive(Debug, Default)]
struct Missed {
    /// The team that did so last, and when.
    last: (u64, u64),
    /// The last time at which another team did so.
    before: u64,
}

/// The accesses to a word.
#[derive(Debug, Default)]
struct Word {
    width: u32,
    /// The value before the last change, its time, and the team that made it. The time is 0 if no
    /// team may miss the change.
    old: u64,
    changed: u64,
    writer: u64,
    /// The teams that have read the new value, or have missed it once.
    readers: Vec<u64>,
    /// The time of the last write, which may have stored the same value.
    wrote: u64,
    /// Some team that has ever read the word, and whether another team has read it too.
    read_by: Option<(u64, bool)>,
}

/// The times up to which the threads of a team see all writes.
#[derive(Debug, Default)]
pub(super) struct View {
    /// For each lane of each warp, the time up to which it sees all writes.
    pub(super) lanes: Vec<[u64; 32]>,
    /// The latest of these times.
    pub(super) latest: u64,
    /// The time of the last write whose value a thread has read.
    pub(super) observed: u64,
    /// Whether a thread has changed a word after another team had read it.
    pub(super) overtaken: bool,
}

impl Missed {
    fn add(&mut self, team: u64, now: u64) {
        if self.last.0 != team {
            self.before = self.last.1;
        }
        self.last = (team, now);
    }

    /// Returns the last time at which a team other than this one missed a change.
    fn by_other(&self, team: u64) -> u64 {
        if self.last.0 == team { self.before } else { self.last.1 }
    }
}

impl Word {
    fn is_read_by(&mut self, team: u64, by_more: bool) {
        let more = by_more || self.read_by.is_some_and(|(first, more)| more || first != team);
        self.read_by = Some((team, more));
    }

    fn was_read_by_other(&self, team: u64) -> bool {
        self.read_by.is_some_and(|(first, more)| more || first != team)
    }
}

impl Changes {
    /// Returns the accesses of a launch that begins.
    pub(super) fn of(schedule: Schedule) -> Changes {
        let seed = if let Schedule::Adversarial(seed) = schedule { seed } else { 0 };
        Changes { rng: Rng::new(seed, u64::MAX - 1), ..Changes::default() }
    }

    /// Returns the addresses of the words that have bytes in common with an access.
    fn overlapping(&self, address: u64, width: u32) -> impl Iterator<Item = u64> + use<> {
        let end = address + u64::from(width);
        let shares = |at: &u64| {
            let word = self.words.get(at);
            word.is_some_and(|word| *at < end && address < at + u64::from(word.width))
        };
        let first = address & !7;
        let found = [first, first + 4].map(|at| Some(at).filter(shares));
        found.into_iter().flatten()
    }

    fn insert(&mut self, address: u64, word: Word) {
        if word.width < 4 {
            self.unknown = true;
            return;
        }
        if self.words.len() == MOST {
            self.words.clear();
            self.unknown = true;
        }
        self.words.insert(address, word);
    }

    /// Makes the current value the only one that loads may return.
    pub(super) fn settle(&mut self, address: u64, width: u32) {
        for at in self.overlapping(address, width) {
            self.words.entry(at).and_modify(|word| word.changed = 0);
        }
    }

    /// Does so for all words, because a copy writes some of them.
    pub(super) fn settle_all(&mut self) {
        self.words.values_mut().for_each(|word| word.changed = 0);
    }

    /// Records a strong write of a new value over an old one. Returns whether another team has read
    /// the word before.
    pub(super) fn write(
        &mut self,
        writer: u64,
        address: u64,
        width: u32,
        [old, new]: [u64; 2],
    ) -> bool {
        self.now += 1;
        let changed = if old == new { 0 } else { self.now };
        let mut word = Word { width, old, changed, writer, wrote: self.now, ..Word::default() };
        for at in self.overlapping(address, width) {
            let before = self.words.remove(&at).and_then(|before| before.read_by);
            if let Some((team, more)) = before {
                word.is_read_by(team, more);
            }
        }
        let overtakes = word.was_read_by_other(writer);
        self.insert(address, word);
        overtakes
    }

    /// Records a strong read by a thread that sees all writes up to a time. Returns the old value if
    /// the thread misses the last change, and the time up to which the values that it reads were
    /// written.
    pub(super) fn read(
        &mut self,
        team: u64,
        sees: u64,
        address: u64,
        width: u32,
    ) -> (Option<u64>, u64) {
        let sees = sees.max(self.missed.by_other(team));
        let (mut old, mut observed, mut known) = (None, 0, false);
        for at in self.overlapping(address, width) {
            let Some(word) = self.words.get_mut(&at) else { continue };
            known = true;
            word.is_read_by(team, false);
            observed = word.wrote.max(observed);
            if word.changed == 0 || word.writer == team || word.readers.contains(&team) {
                continue;
            }
            word.readers.push(team);
            let may_miss = word.changed > sees && (at, word.width) == (address, width);
            if may_miss && self.rng.next() & 1 == 0 {
                (old, observed) = (Some(word.old), word.changed - 1);
                self.missed.add(team, self.now);
            }
            if word.readers.len() == MOST_READERS {
                word.changed = 0;
            }
        }
        if !known {
            let read_by = Some((team, false));
            self.insert(address, Word { width, read_by, ..Word::default() });
        }
        (old, observed)
    }
}
