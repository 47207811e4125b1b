//! The findings of a check. Each fault is listed once, even if it occurs in several launches, in
//! several blocks, or at several instructions of one source line.

use rustc_hash::FxHashMap;

use super::finding::{Fault, Finding, Site};
use crate::Trap;
use crate::model::Space;

/// The class of a fault and the instructions that show it. For a single instruction, both elements
/// of `pcs` are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) fault: Fault,
    pub(super) space: Option<Space>,
    pub(super) pcs: (u32, u32),
    /// The rank of the required fix. Of several examples, the report contains the one that requires
    /// the fix with the highest rank.
    pub(super) rank: u8,
}

impl Key {
    pub(super) fn new(fault: Fault, space: Option<Space>, pc: u32) -> Key {
        Key { fault, space, pcs: (pc, pc), rank: 0 }
    }
}

/// The ranks of fixes, in increasing order: a warp barrier, a block barrier, one warp instead of
/// several, and any other change.
pub(super) const WARP: u8 = 1;
pub(super) const BLOCK: u8 = 2;
pub(super) const ONE_WARP: u8 = 3;
pub(super) const BEYOND: u8 = 4;

/// The properties that identify a fault for the reader: entry, class, array and fix. Lines are not
/// included, because one missing barrier causes faults on many lines.
type Same = (String, Fault, String, String);

/// Findings, in the order of detection.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    findings: Vec<Finding>,
    /// For each finding: the last launch that showed it, and the rank of its example.
    last: Vec<(u64, u8)>,
    /// The index of the finding, by the index of the entry and the key.
    seen: FxHashMap<(usize, Key), usize>,
    /// The same keys in the order of detection, for merging forks.
    keys: Vec<(Key, usize)>,
    same: FxHashMap<Same, usize>,
    /// The names of all entries so far, the index of the current entry, and the number of the
    /// current launch.
    entries: Vec<String>,
    entry: usize,
    launch: u64,
}

impl Found {
    pub(super) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Starts a launch. Instructions of different entries are distinct, even if their indices are
    /// equal.
    pub(super) fn begin(&mut self, entry: &str, launch: u64) {
        self.launch = launch;
        self.entry = self.entries.iter().position(|e| e == entry).unwrap_or_else(|| {
            self.entries.push(entry.to_owned());
            self.entries.len() - 1
        });
    }

    /// Creates a fork that belongs to the same launch and has no findings.
    pub(super) fn fork(&self) -> Found {
        Found { entry: self.entry, launch: self.launch, ..Found::default() }
    }

    /// Records a fault that occurred in `times` lanes. If the fault is the first with this key,
    /// `finding` builds the example.
    pub(super) fn add(&mut self, key: Key, times: u64, finding: impl FnOnce() -> Finding) {
        match self.seen.get(&(self.entry, key)) {
            Some(&i) => self.again(i, times),
            None => {
                let finding = Finding { times, ..finding() };
                self.first(key, finding);
            }
        }
    }

    /// Returns whether a fault with this key was recorded.
    pub(super) fn contains(&self, key: Key) -> bool {
        self.seen.contains_key(&(self.entry, key))
    }

    fn again(&mut self, i: usize, times: u64) {
        self.findings[i].times += times;
        if self.last[i].0 != self.launch {
            self.last[i].0 = self.launch;
            self.findings[i].launches += 1;
        }
    }

    /// Records the first fault with this key. The same fault may already be listed, with other
    /// instructions.
    fn first(&mut self, key: Key, finding: Finding) {
        let i = self.book(finding, key.rank);
        self.findings[i].places += u64::from(self.is_new_place(&key));
        self.seen.insert((self.entry, key), i);
        self.keys.push((key, i));
    }

    /// Merges a finding with the one that is listed for the same fault; if none is listed, lists
    /// the finding. If the new finding has a higher rank, it becomes the example. Returns its
    /// index.
    fn book(&mut self, finding: Finding, rank: u8) -> usize {
        let same = same(&finding, rank);
        let Some(&i) = self.same.get(&same) else {
            self.same.insert(same, self.findings.len());
            self.last.push((self.launch, rank));
            self.findings.push(Finding { places: 0, ..finding });
            return self.findings.len() - 1;
        };
        self.again(i, finding.times);
        let old = &mut self.findings[i];
        for lines in &finding.lines {
            if !old.lines.contains(lines) {
                old.lines.push(lines.clone());
            }
        }
        if rank > self.last[i].1 {
            let (places, times, launches) = (old.places, old.times, old.launches);
            let (launch, lines) = (old.launch, std::mem::take(&mut old.lines));
            *old = Finding { places, times, launches, launch, lines, ..finding };
            self.last[i].1 = rank;
        }
        i
    }

    fn is_new_place(&self, key: &Key) -> bool {
        (0..=BEYOND).all(|rank| !self.seen.contains_key(&(self.entry, Key { rank, ..*key })))
    }

    /// Drops stores of the same value by instructions that also store different values, because the
    /// order of the run determines which pairs of values are the same.
    pub(super) fn overrule(&mut self) {
        let raced = |entry: usize, key: &Key| {
            (0..=BEYOND).any(|rank| {
                let race = Key { fault: Fault::DataRace, rank, ..*key };
                self.seen.contains_key(&(entry, race))
            })
        };
        let all = self.seen.iter().filter(|((_, key), _)| key.fault == Fault::SameValue);
        let over: Vec<_> =
            all.filter(|((e, key), _)| raced(*e, key)).map(|(k, i)| (*k, *i)).collect();
        for ((entry, key), i) in over {
            self.seen.remove(&(entry, key));
            self.keys.retain(|&(other, at)| (other, at) != (key, i));
            self.findings[i].places -= 1;
        }
        while let Some(i) =
            self.findings.iter().position(|f| f.fault == Fault::SameValue && f.places == 0)
        {
            self.findings.remove(i);
            self.last.remove(i);
            self.same.retain(|_, at| *at != i);
            let at = self.seen.values_mut().chain(self.same.values_mut());
            at.chain(self.keys.iter_mut().map(|(_, at)| at))
                .filter(|at| **at > i)
                .for_each(|at| *at -= 1);
        }
    }

    /// Merges the findings of a fork.
    pub(super) fn merge(&mut self, fork: Found) {
        let mut keys = vec![Vec::new(); fork.findings.len()];
        for (key, i) in fork.keys {
            keys[i].push(key);
        }
        for (at, finding) in fork.findings.into_iter().enumerate() {
            let i = self.book(finding, fork.last[at].1);
            for key in &keys[at] {
                if !self.seen.contains_key(&(self.entry, *key)) {
                    self.findings[i].places += u64::from(self.is_new_place(key));
                    self.seen.insert((self.entry, *key), i);
                    self.keys.push((*key, i));
                }
            }
        }
    }

    /// Records a fault that stopped the kernel.
    pub(super) fn trap(&mut self, fault: Fault, trap: &Trap, what: &'static str) {
        let site = Site {
            block: trap.block,
            thread: trap.thread,
            line: trap.line,
            ptx_line: trap.ptx_line,
            at: trap.at.clone(),
            text: trap.text.clone(),
            what,
        };
        let finding = Finding {
            fault,
            entry: trap.entry.clone(),
            launch: trap.launch,
            launches: 1,
            space: None,
            address: 0,
            place: String::new(),
            sites: vec![site],
            lines: vec![vec![trap.line]],
            detail: trap.sentence(),
            cure: String::new(),
            places: 1,
            times: 1,
        };
        self.add(Key::new(fault, None, trap.ptx_line), 1, || finding);
    }
}

fn same(finding: &Finding, rank: u8) -> Same {
    // All elements of an array count as the same place, and all lines and lanes as the same fix.
    let numberless = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    let peer = matches!(finding.fault, Fault::NotStarted | Fault::Ended);
    let mending = match rank {
        WARP | BLOCK | ONE_WARP => "a barrier".into(),
        _ if finding.sites.len() == 2 || peer => numberless(&finding.cure),
        _ => finding.detail.clone(),
    };
    (finding.entry.clone(), finding.fault, numberless(&finding.place), mending)
}
