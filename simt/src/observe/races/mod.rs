//! The race check, which finds unordered accesses to one address, at least one of them a write.
//!
//! The check uses the happens-before order, not the order of one run. This order comes from block
//! barriers, warp barriers with their masks, cluster barriers, `mbarrier` phases, and release and
//! acquire through atomics, flags and fences. A shuffle orders nothing. Two accesses that no chain
//! of these operations connects are reported, whichever of them came first. Every schedule that
//! takes the same path therefore gives the same verdict.
//!
//! `shadow` records accesses, and `strong` records those of atomics. `clock` has the happens-before
//! order within a block, and `release` has the order through memory and through the barrier of a
//! cluster; `order` and `cluster` apply barriers and fences to both. `accessor` compares one
//! access with earlier ones, `lifetimes` compares it with the start and the end of the block that
//! owns the memory, and `reports` keeps the findings. `cures`, `between`, `blocks`, `copied`,
//! `counts` and `polled` choose the remedies; `done` and `code` have the facts that these need.

mod accessor;
mod between;
mod blocks;
mod bounds;
mod clock;
mod cluster;
mod code;
mod copied;
mod copies;
mod counts;
mod cures;
mod done;
mod exits;
mod lifetimes;
mod order;
mod pair;
mod peers;
mod polled;
mod polls;
mod readonly;
mod release;
mod reports;
mod shadow;
mod strong;
mod touches;
mod unwaited;

use rustc_hash::FxHashMap;
use std::sync::Arc;

use self::accessor::{Accessor, Target};
use self::clock::Cluster;
use self::done::Done;
use self::pair::{Apart, Side};
use self::release::Logs;
use self::reports::Reports;
use self::shadow::{Cell, Entry, Global, LINE, Shared, Spill, Strength, Whole};
use self::touches::Readonly;
use self::unwaited::Unfenced;
use super::bits::lanes;
use super::finding::Finding;
use super::scene::Scene;
use crate::observer::{
    Access, Arrive, At, Block, Complete, Copy, CopyGroup, LaunchInfo, Mbarrier, Observer, Order,
    Scope, Space,
};

/// Finds data races and unordered volatile pairs in shared and global memory.
///
/// Known gap: a store to a flag does not end the release sequence of earlier releases.
#[derive(Debug, Clone, Default)]
pub struct Races {
    reports: Reports,
    /// Clusters that are running or have ended. The slots of ended clusters are reused.
    clusters: Vec<Cluster>,
    /// Shared memory, by slot of the cluster and rank of the block.
    shared: Vec<Vec<Shared>>,
    places: FxHashMap<u64, usize>,
    free: Vec<usize>,
    /// Index and slot of the cluster that was used last.
    current: Option<(u64, usize)>,
    global: Global,
    logs: Logs,
    shared_bytes: u32,
    /// Accesses to memory that `ld.global.nc` reads, if the kernel has such loads.
    readonly: Readonly,
    reads_only: bool,
    /// Whether the launch has clusters of several blocks.
    clustered: bool,
    /// Writes of threads that are not visible to the copy engine, if the kernel uses it.
    unfenced: Unfenced,
    engine: bool,
    /// Number of writes and synchronizations in the launch, from 1.
    changes: u64,
}

impl Races {
    /// Creates an observer without findings.
    pub fn new() -> Races {
        Races::default()
    }

    /// Returns the findings, in the order of detection.
    pub fn findings(&self) -> &[Finding] {
        self.reports.found.findings()
    }

    /// Returns the slot of the block's cluster.
    #[inline]
    fn place(&mut self, block: &Block) -> usize {
        match self.current {
            Some((cluster, place)) if cluster == block.cluster => place,
            _ => {
                let place = self.places[&block.cluster];
                self.current = Some((block.cluster, place));
                place
            }
        }
    }

    /// Checks and records the access of one lane, word by word.
    fn span(
        &mut self,
        at: &At<'_>,
        span: Span,
        entry: Entry,
        kind: Kind,
        access: Option<&Access<'_>>,
    ) {
        let Span { lane, space, address, bytes } = span;
        let place = self.place(&at.block);
        let Races { clusters, shared, global, logs, reports, .. } = self;
        let cluster = &clusters[place];
        let rank = at.block.rank as usize;
        let (cells, first) = match space {
            Space::Shared => {
                let (peer, offset) = Access::peer(address);
                let owner = peer.map_or(rank, |r| r as usize);
                let Some(memory) = shared[place].get_mut(owner) else { return };
                (Some(memory), u64::from(offset))
            }
            _ => (None, address),
        };
        let mut accessor = Accessor::new(cluster, logs, (rank, at.warp), reports, access);
        let mut go = |cell: &mut Cell, spill: &mut Spill, word: u64| {
            let (from, to) = (first.max(word * 4), (first + bytes).min(word * 4 + 4));
            let mask = ((1u32 << (to - from)) - 1) << (from % 4);
            let at = Target { lane, space, address: from };
            let entry = entry.of(mask);
            if kind.reads {
                accessor.word(cell, spill, entry, false, at);
            }
            if kind.writes {
                accessor.word(cell, spill, entry, true, at);
            }
        };
        let words = first / 4..(first + bytes).div_ceil(4);
        match cells {
            Some(Shared { cells, spill }) => {
                for word in words {
                    if let Some(cell) = cells.get_mut(word as usize) {
                        go(cell, spill, word);
                    }
                }
            }
            None => {
                for word in words {
                    let (cell, spill) = global.cell(word);
                    go(cell, spill, word);
                }
            }
        }
    }

    /// Returns the key of an address's log.
    fn key(&self, at: &At<'_>, space: Space, address: u64) -> (u64, u64) {
        match (space, Access::peer(address)) {
            (Space::Shared, (None, offset)) => (at.block.index + 1, u64::from(offset)),
            (Space::Shared, (Some(rank), offset)) => {
                let scene = self.reports.scene.as_ref();
                (scene.map_or(at.block.index, |s| s.peer(&at.block, rank)) + 1, u64::from(offset))
            }
            _ => (0, address),
        }
    }

    fn entry(&mut self, at: &At<'_>, strength: Strength, scope: Scope) -> Entry {
        let place = self.place(&at.block);
        Entry::new(
            at.block.index as u32,
            self.clusters[place].now,
            at.warp,
            at.pc,
            strength,
            (scope as u32).min(3),
        )
    }

    /// Records a coalesced access of a whole warp line by line. Returns `false` for other accesses.
    #[inline]
    fn lines(&mut self, at: &At<'_>, access: &Access<'_>, entry: Entry) -> bool {
        let bytes = u64::from(access.bytes());
        let first = access.addrs[0];
        let coalesced = access.mask == u32::MAX
            && matches!(bytes, 4 | 8 | 16)
            && first.is_multiple_of(4 * LINE as u64)
            && (0..32).all(|l| access.addrs[l] == first + l as u64 * bytes);
        if !coalesced {
            return false;
        }
        let words = bytes as u32 / 4;
        for i in 0..words {
            let lane = 32 / words * i;
            let whole = Whole { entry, first: lane, words, writes: access.kind.writes() };
            if !self.global.whole(first / 4 + u64::from(i) * LINE as u64, whole) {
                for lane in lane..lane + 32 / words {
                    let kind = Kind::of(access, lane);
                    let span = Span {
                        lane,
                        space: Space::Global,
                        address: access.addrs[lane as usize],
                        bytes,
                    };
                    self.span(at, span, entry.by(1 << lane), kind, Some(access));
                }
            }
        }
        true
    }
}

/// Bytes that one lane accesses.
#[derive(Debug, Clone, Copy)]
struct Span {
    lane: u32,
    space: Space,
    address: u64,
    bytes: u64,
}

/// The kind of access to a word.
#[derive(Debug, Clone, Copy)]
struct Kind {
    reads: bool,
    writes: bool,
}

impl Kind {
    const READ: Kind = Kind { reads: true, writes: false };
    const WRITE: Kind = Kind { reads: false, writes: true };

    /// Returns the kind of a lane's access. An atomic counts only as a write, because every race
    /// that involves its read also involves its write.
    fn of(access: &Access<'_>, lane: u32) -> Kind {
        if access.wrote >> lane & 1 == 1 { Kind::WRITE } else { Kind::READ }
    }
}

impl Observer for Races {
    fn fork(&self) -> Self {
        Races {
            reports: Reports {
                scene: self.reports.scene.clone(),
                found: self.reports.found.fork(),
                ..Reports::default()
            },
            shared_bytes: self.shared_bytes,
            reads_only: self.reads_only,
            clustered: self.clustered,
            engine: self.engine,
            ..Races::default()
        }
    }

    fn merge(&mut self, fork: Self) {
        self.reports.found.merge(fork.reports.found);
        let reports = &mut self.reports;
        self.global.merge(fork.global, |a, a_wrote, b, b_wrote, address| {
            reports.race(
                Side::of(a, a_wrote, 0),
                Side::of(b, b_wrote, 0),
                Apart::Unordered,
                Space::Global,
                address,
            );
        });
        self.merge_readonly(fork.readonly);
    }

    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
        // A launch begins after all earlier ones have ended.
        self.changes = 1;
        self.places.clear();
        self.clusters.clear();
        self.shared.clear();
        self.free.clear();
        self.current = None;
        self.global.reset();
        self.logs.reset();
        self.readonly.reset();
        self.reads_only = touches::reads(&launch.kernel.insts);
        self.clustered = launch.cluster.iter().any(|&blocks| blocks > 1);
        self.unfenced = Unfenced::default();
        self.engine = unwaited::uses_engine(&launch.kernel.insts);
        self.shared_bytes = launch.shared_room();
        self.reports.found.begin(launch.kernel.name(), launch.number);
        self.reports.scene = Some(Arc::new(Scene::new(launch)));
        self.reports.done = Done::default();
        self.reports.uses.clear();
    }

    fn launch_end(&mut self, _: &LaunchInfo<'_>) {
        self.reports.found.overrule();
        self.global.reset();
        self.logs.reset();
        self.readonly.reset();
    }

    fn block_begin(&mut self, launch: &LaunchInfo<'_>, block: &Block) {
        let (clusters, shared, free) = (&mut self.clusters, &mut self.shared, &mut self.free);
        let place = *self.places.entry(block.cluster).or_insert_with(|| {
            free.pop().unwrap_or_else(|| {
                clusters.push(Cluster::new());
                shared.push(Vec::new());
                clusters.len() - 1
            })
        });
        self.current = Some((block.cluster, place));
        self.changes += 1;
        let rank = block.rank as usize;
        self.clusters[place].begin(rank, block.index as u32, launch.threads());
        let memory = &mut self.shared[place];
        if memory.len() <= rank {
            memory.resize_with(rank + 1, Shared::default);
        }
        memory[rank].reset(self.shared_bytes);
        if self.engine {
            self.forget_unfenced(place, rank);
        }
    }

    fn block_end(&mut self, launch: &LaunchInfo<'_>, block: &Block) {
        let place = self.place(block);
        if self.clustered {
            self.outlives(block);
        }
        self.logs.forget(block.index + 1);
        self.clusters[place].blocks[block.rank as usize].live = false;
        if self.clusters[place].blocks.iter().all(|b| !b.live) {
            self.places.remove(&block.cluster);
            self.current = None;
            self.clusters[place].barrier = None;
            self.free.push(place);
            // One cluster runs at a time, and no other cluster acquires its releases.
            if !launch.interleaved {
                self.logs.reset();
            }
        }
    }

    #[inline]
    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {
        if !matches!(access.space, Space::Global | Space::Shared) {
            return;
        }
        if self.reads_only && access.space == Space::Global {
            self.watch_readonly(at, access);
        }
        if self.engine && access.space == Space::Shared && access.wrote != 0 {
            self.write_unfenced(at, access);
        }
        let repeated;
        let access = if access.wrote != 0 {
            self.changes += 1;
            access
        } else if access.order == Order::Weak && !access.kind.is_atomic() {
            access
        } else {
            let place = self.place(&at.block);
            let block = &mut self.clusters[place].blocks[at.block.rank as usize];
            let polls = &mut block.warps[at.warp as usize].polls;
            repeated = Access { mask: polls.not_repeated(self.changes, at.pc, access), ..*access };
            &repeated
        };
        if access.mask == 0 {
            return;
        }
        let publishes = self.publishes(at, access);
        let strength = match access.order {
            Order::Weak if !access.kind.is_atomic() => Strength::Weak,
            Order::Volatile if !access.kind.is_atomic() && !publishes => Strength::Volatile,
            _ => Strength::Strong,
        };
        let entry = self.entry(at, strength, access.scope);
        if strength != Strength::Weak {
            self.strong(at, access);
        }
        if access.space == Space::Global
            && strength == Strength::Weak
            && self.lines(at, access, entry)
        {
            return;
        }
        let bytes = u64::from(access.bytes());
        if self.clustered && access.space == Space::Shared {
            for lane in lanes(access.mask) {
                let writes = access.wrote >> lane & 1 == 1;
                let address = access.addrs[lane as usize];
                self.reaches(at, lane, address, entry.by(1 << lane), writes);
            }
        }
        for lane in lanes(access.mask) {
            let span =
                Span { lane, space: access.space, address: access.addrs[lane as usize], bytes };
            self.span(at, span, entry.by(1 << lane), Kind::of(access, lane), Some(access));
        }
    }

    fn copy(&mut self, at: &At<'_>, copy: &Copy) {
        self.changes += 1;
        let mine = self.entry(at, Strength::Weak, Scope::Sys).by(1 << copy.lane);
        let counted = copy.mbarrier.map(|mbarrier| {
            self.signalled(at, copy.lane, mbarrier);
            let key = self.key(at, Space::Shared, mbarrier);
            let log = self.logs.make(key);
            self.logs.expect(log, -i64::from(copy.bytes));
            self.entry(at, Strength::Async, Scope::Sys).of_copy(copy.lane, log)
        });
        for (space, address, bytes, kind) in [
            (copy.from, copy.source, copy.read, Kind::READ),
            (copy.to, copy.target, copy.bytes, Kind::WRITE),
        ] {
            let bytes = u64::from(bytes);
            if bytes == 0 || !matches!(space, Space::Global | Space::Shared) {
                continue;
            }
            let entry = match counted.filter(|_| kind.writes) {
                Some(counted) => counted,
                None if kind.writes && !copy.bulk => self.unwaited(at, copy),
                None => mine,
            };
            match counted.filter(|_| self.clustered && space == Space::Shared) {
                Some(counted) if kind.reads => self.sends(at, address, counted),
                Some(counted) => self.reaches(at, copy.lane, address, counted, true),
                None => {}
            }
            let span = Span { lane: copy.lane, space, address, bytes };
            self.engaged(at, copy, span, kind);
            self.span(at, span, entry, kind, None);
        }
    }

    fn copy_group(&mut self, at: &At<'_>, group: CopyGroup) {
        self.waited(at, group);
    }

    fn copy_arrive(&mut self, at: &At<'_>, lane: u32, mbarrier: u64) {
        self.counted(at, lane, mbarrier);
    }

    fn proxy_fence(&mut self, at: &At<'_>) {
        self.proxy_fenced(at);
    }

    fn arrive(&mut self, at: &At<'_>, arrive: &Arrive) {
        self.arrived(at, arrive);
    }

    fn complete(&mut self, complete: &Complete<'_>) {
        self.completed(complete);
    }

    fn cluster_wait(&mut self, at: &At<'_>) {
        self.cluster_waits(at);
    }

    fn fence(&mut self, at: &At<'_>, order: Order, scope: Scope) {
        self.fenced_off(at, order, scope);
    }

    fn init_fence(&mut self, at: &At<'_>) {
        self.inits_fenced(at);
    }

    fn mbarrier(&mut self, at: &At<'_>, mbarrier: &Mbarrier) {
        self.on_mbarrier(at, mbarrier);
    }

    fn exit(&mut self, at: &At<'_>, mask: u32) {
        let place = self.place(&at.block);
        self.clusters[place].exit(at.block.rank as usize, at.warp, mask);
        self.left(at, mask);
    }
}
