//! The race check: accesses to one place, one of them a write, that nothing orders.
//!
//! It follows happens-before, not luck: block barriers, warp barriers with their masks, cluster
//! barriers, `mbarrier` phases, and release and acquire through atomics, flags and fences. A
//! shuffle orders nothing. Two accesses that no chain of these connects are reported whichever
//! of them came first, so every schedule that takes the same path gives the same verdict.
//!
//! Three files carry it: `shadow` remembers accesses, `clock` says who knows what within a
//! cluster, `release` what is handed over through memory.

mod clock;
mod release;
mod shadow;

use std::collections::HashMap;
use std::sync::Arc;

use self::clock::{Cluster, add_for};
use self::release::{Logs, Ref, Release};
use self::shadow::{Cell, Entry, Global, LINE, Shared, Spill, Strength, Whole};
use super::finding::{Allocations, Fault, Finding, Scene};
use super::memory::lanes;
use crate::observer::{
    Access, Arrive, At, Block, Complete, Copy, HostEvent, LaunchInfo, Level, Mbarrier, MbarrierOp,
    Observer, Order, Scope, Space,
};

/// Finds data races and unordered volatile pairs in shared and global memory.
///
/// Two gaps are known: a store to a flag does not end what was released through it before, and
/// `cp.async` without bulk counts as done at once.
#[derive(Debug, Clone, Default)]
pub struct Races {
    reports: Reports,
    /// Clusters that run or have run: places are used again.
    clusters: Vec<Cluster>,
    /// Shared memory, by the place of the cluster and the rank of the block.
    shared: Vec<Vec<Shared>>,
    places: HashMap<u64, usize>,
    free: Vec<usize>,
    /// Index of the last cluster and its place.
    current: Option<(u64, usize)>,
    global: Global,
    logs: Logs,
    shared_bytes: u32,
}

/// What was found, each pair of instructions once.
#[derive(Debug, Clone, Default)]
struct Reports {
    findings: Vec<Finding>,
    seen: HashMap<(u32, u32, Fault, Space), usize>,
    scene: Option<Arc<Scene>>,
    names: Arc<Allocations>,
}

/// One side of a pair.
#[derive(Debug, Clone, Copy)]
struct Side {
    block: u32,
    warp: u32,
    lane: u32,
    pc: u32,
    strength: Strength,
    writes: bool,
}

impl Side {
    fn of(e: &Entry, writes: bool, not: u32) -> Side {
        let lanes = if e.strength() == Strength::Async { 1 } else { e.lanes };
        let others = if lanes & !not != 0 { lanes & !not } else { lanes };
        let lane = others.trailing_zeros() & 31;
        Side { block: e.block, warp: e.warp(), lane, pc: e.pc(), strength: e.strength(), writes }
    }

    fn what(&self) -> &'static str {
        match (self.strength, self.writes) {
            (Strength::Weak, true) => "write",
            (Strength::Weak, false) => "read",
            (Strength::Volatile, true) => "volatile write",
            (Strength::Volatile, false) => "volatile read",
            (Strength::Strong, true) => "atomic write",
            (Strength::Strong, false) => "atomic read",
            (Strength::Async, _) => "asynchronous copy",
        }
    }
}

impl Reports {
    #[cold]
    fn race(&mut self, a: Side, b: Side, reach: bool, space: Space, address: u64) {
        let strong = |s: Strength| matches!(s, Strength::Volatile | Strength::Strong);
        let fault = match (a.strength, b.strength) {
            (Strength::Volatile, Strength::Volatile) if reach => Fault::UnorderedVolatile,
            // Atomics and the like may meet: that is what they are for.
            (x, y) if strong(x) && strong(y) && reach => return,
            _ => Fault::DataRace,
        };
        let Some(scene) = &self.scene else { return };
        if let Some(&i) = self.seen.get(&(a.pc, b.pc, fault, space)) {
            self.findings[i].times += 1;
            return;
        }
        self.seen.insert((a.pc, b.pc, fault, space), self.findings.len());
        let sites =
            [a, b].map(|s| scene.site(u64::from(s.block), s.warp * 32 + s.lane, s.pc, s.what()));
        self.findings.push(Finding {
            fault,
            entry: scene.kernel.name().to_owned(),
            space: Some(space),
            address,
            place: self.names.place(space, address),
            sites: sites.into(),
            detail: if reach {
                String::new()
            } else {
                "the scope of an access does not reach the other".into()
            },
            times: 1,
        });
    }

    fn merge(&mut self, fork: Reports) {
        let keys: HashMap<usize, _> = fork.seen.iter().map(|(&key, &i)| (i, key)).collect();
        for (i, finding) in fork.findings.into_iter().enumerate() {
            let key = keys[&i];
            match self.seen.get(&key) {
                Some(&mine) => self.findings[mine].times += finding.times,
                None => {
                    self.seen.insert(key, self.findings.len());
                    self.findings.push(finding);
                }
            }
        }
    }
}

/// Who accesses, and all that is needed to tell what it knows.
struct Accessor<'a> {
    cluster: &'a Cluster,
    logs: &'a Logs,
    rank: usize,
    warp: u32,
    reports: &'a mut Reports,
}

impl Accessor<'_> {
    #[inline]
    fn knows(&self, lane: u32, e: &Entry) -> bool {
        match self.cluster.knows(self.rank, self.warp, lane, e) {
            Some(known) => known,
            None => self.knows_far(lane, e),
        }
    }

    #[cold]
    fn knows_far(&self, lane: u32, e: &Entry) -> bool {
        let block = &self.cluster.blocks[self.rank];
        let own = &block.warps[self.warp as usize].refs;
        if own.is_empty() && block.refs.is_empty() {
            return false;
        }
        let own = own.iter().filter(|(m, _)| m >> lane & 1 == 1).map(|&(_, r)| r);
        let known = self.cluster.lanes_known(self.rank, self.warp, lane, e);
        self.logs.know(block.index, own.chain(block.refs.iter().copied()), e, known)
    }

    /// One lane's access to a word.
    #[inline]
    fn word(&mut self, cell: &mut Cell, spill: &mut Spill, entry: Entry, writes: bool, at: Word) {
        let mut raced = Vec::new();
        let this: &Self = self;
        cell.access(
            entry,
            writes,
            spill,
            |e| this.knows(at.lane, e),
            |e, wrote| raced.push((*e, wrote)),
        );
        for (e, wrote) in raced {
            self.raced(&e, wrote, &entry, writes, at);
        }
    }

    #[cold]
    fn raced(&mut self, e: &Entry, wrote: bool, entry: &Entry, writes: bool, at: Word) {
        let own = self.cluster.blocks[self.rank].index;
        // Within a block every scope will do, within a cluster that of the cluster.
        let needed = match self.cluster.rank_of(e.block) {
            _ if e.block == own => 0,
            Some(_) => 1,
            None => 2,
        };
        let reach = e.scope().min(entry.scope()) >= needed;
        let strong = |e: &Entry| matches!(e.strength(), Strength::Volatile | Strength::Strong);
        let reach = reach || !(strong(e) && strong(entry));
        let not = if e.block == own && e.warp() == self.warp { 1 << at.lane } else { 0 };
        let mut here = Side::of(entry, writes, 0);
        here.lane = at.lane;
        self.reports.race(Side::of(e, wrote, not), here, reach, at.space, at.address);
    }
}

/// Where a lane's access goes.
#[derive(Debug, Clone, Copy)]
struct Word {
    lane: u32,
    space: Space,
    address: u64,
}

impl Races {
    /// An observer that has found nothing yet.
    pub fn new() -> Races {
        Races::default()
    }

    /// What was found, in the order in which it was met.
    pub fn findings(&self) -> &[Finding] {
        &self.reports.findings
    }

    /// The place of the block's cluster.
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

    /// Bytes of one lane, word by word.
    fn span(&mut self, at: &At<'_>, span: Span, entry: Entry, kind: Kind) {
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
        let mut accessor = Accessor { cluster, logs, rank, warp: at.warp, reports };
        let mut go = |cell: &mut Cell, spill: &mut Spill, word: u64| {
            let (from, to) = (first.max(word * 4), (first + bytes).min(word * 4 + 4));
            let mask = ((1u32 << (to - from)) - 1) << (from % 4);
            let at = Word { lane, space, address: from };
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

    /// The key of the log of an address.
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

    /// What a strong access hands over or takes.
    #[cold]
    fn strong(&mut self, at: &At<'_>, access: &Access<'_>) {
        let place = self.place(&at.block);
        let (rank, warp) = (at.block.rank as usize, at.warp);
        let acquires = matches!(access.order, Order::Acquire | Order::AcqRel | Order::SeqCst);
        let releases = matches!(access.order, Order::Release | Order::AcqRel | Order::SeqCst);
        let scope = access.scope as u8;
        let mut fresh: Option<Arc<Release>> = None;
        for lane in lanes(access.mask) {
            let key = self.key(at, access.space, access.addrs[lane as usize]);
            if access.kind.reads()
                && let Some(log) = self.logs.get(key)
            {
                let r = Ref { log, length: self.logs.length(log), scope };
                self.take(place, rank, warp, 1 << lane, r, acquires);
            }
            if access.kind.writes() {
                let release = if releases {
                    let cluster = &mut self.clusters[place];
                    let fresh = fresh.take().filter(|_| !acquires);
                    Some(fresh.unwrap_or_else(|| {
                        Arc::new(cluster.release(rank, warp, access.mask, scope))
                    }))
                } else {
                    self.fenced(place, rank, warp, lane)
                };
                if let Some(release) = release {
                    let log = self.logs.make(key);
                    self.logs.push(log, 1 << lane, release.clone());
                    fresh = releases.then_some(release);
                }
            }
        }
    }

    fn take(&mut self, place: usize, rank: usize, warp: u32, lanes: u32, r: Ref, acquires: bool) {
        let warp = &mut self.clusters[place].blocks[rank].warps[warp as usize];
        add_for(if acquires { &mut warp.refs } else { &mut warp.pending }, lanes, r);
    }

    /// What a lane knew at its last releasing fence.
    fn fenced(&self, place: usize, rank: usize, warp: u32, lane: u32) -> Option<Arc<Release>> {
        let fenced = &self.clusters[place].blocks[rank].warps[warp as usize].fenced;
        fenced.iter().find(|(m, _)| m >> lane & 1 == 1).map(|(_, r)| r.clone())
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

    /// A coalesced access of a whole warp: line by line. Returns whether that is what it was.
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
                    let kind = Kind::of(access);
                    let span = Span {
                        lane,
                        space: Space::Global,
                        address: access.addrs[lane as usize],
                        bytes,
                    };
                    self.span(at, span, entry.by(1 << lane), kind);
                }
            }
        }
        true
    }
}

/// Bytes that one lane touches.
#[derive(Debug, Clone, Copy)]
struct Span {
    lane: u32,
    space: Space,
    address: u64,
    bytes: u64,
}

/// What an access does to its words.
#[derive(Debug, Clone, Copy)]
struct Kind {
    reads: bool,
    writes: bool,
}

impl Kind {
    const READ: Kind = Kind { reads: true, writes: false };
    const WRITE: Kind = Kind { reads: false, writes: true };

    /// An atomic counts as a write alone: whatever a read of it races with, the write does too.
    fn of(access: &Access<'_>) -> Kind {
        if access.kind.writes() { Kind::WRITE } else { Kind::READ }
    }
}

impl Observer for Races {
    fn fork(&self) -> Self {
        Races {
            reports: Reports {
                scene: self.reports.scene.clone(),
                names: self.reports.names.clone(),
                ..Reports::default()
            },
            shared_bytes: self.shared_bytes,
            ..Races::default()
        }
    }

    fn merge(&mut self, fork: Self) {
        self.reports.merge(fork.reports);
        let reports = &mut self.reports;
        self.global.merge(fork.global, |a, a_wrote, b, b_wrote, address| {
            reports.race(
                Side::of(a, a_wrote, 0),
                Side::of(b, b_wrote, 0),
                true,
                Space::Global,
                address,
            );
        });
    }

    fn host(&mut self, event: HostEvent) {
        Arc::make_mut(&mut self.reports.names).host(event);
    }

    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
        // A launch begins when all before it is over.
        self.places.clear();
        self.clusters.clear();
        self.shared.clear();
        self.free.clear();
        self.current = None;
        self.global.reset();
        self.logs.reset();
        self.shared_bytes = launch.shared;
        self.reports.seen.clear();
        self.reports.scene = Some(Arc::new(Scene::new(launch)));
    }

    fn launch_end(&mut self, _: &LaunchInfo<'_>) {
        self.global.reset();
        self.logs.reset();
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
        let rank = block.rank as usize;
        self.clusters[place].begin(rank, block.index as u32, launch.threads());
        let memory = &mut self.shared[place];
        if memory.len() <= rank {
            memory.resize_with(rank + 1, Shared::default);
        }
        memory[rank].reset(self.shared_bytes);
    }

    fn block_end(&mut self, _: &LaunchInfo<'_>, block: &Block) {
        let place = self.place(block);
        self.logs.forget(block.index + 1);
        self.clusters[place].blocks[block.rank as usize].live = false;
        if self.clusters[place].blocks.iter().all(|b| !b.live) {
            self.places.remove(&block.cluster);
            self.current = None;
            self.free.push(place);
        }
    }

    #[inline]
    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {
        if !matches!(access.space, Space::Global | Space::Shared) {
            return;
        }
        let strength = match access.order {
            Order::Weak if !access.kind.is_atomic() => Strength::Weak,
            Order::Volatile if !access.kind.is_atomic() => Strength::Volatile,
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
        let (bytes, kind) = (u64::from(access.bytes()), Kind::of(access));
        for lane in lanes(access.mask) {
            let span =
                Span { lane, space: access.space, address: access.addrs[lane as usize], bytes };
            self.span(at, span, entry.by(1 << lane), kind);
        }
    }

    fn copy(&mut self, at: &At<'_>, copy: &Copy) {
        let bytes = u64::from(copy.bytes);
        let mine = self.entry(at, Strength::Weak, Scope::Sys).by(1 << copy.lane);
        for (space, address, kind) in
            [(copy.from, copy.source, Kind::READ), (copy.to, copy.target, Kind::WRITE)]
        {
            if !matches!(space, Space::Global | Space::Shared) {
                continue;
            }
            let entry = match copy.mbarrier.filter(|_| kind.writes) {
                Some(mbarrier) => {
                    let key = self.key(at, Space::Shared, mbarrier);
                    let log = self.logs.make(key);
                    self.entry(at, Strength::Async, Scope::Sys).by(log)
                }
                None => mine,
            };
            self.span(at, Span { lane: copy.lane, space, address, bytes }, entry, kind);
        }
    }

    fn arrive(&mut self, at: &At<'_>, arrive: &Arrive) {
        if !arrive.arrive_only {
            return;
        }
        let place = self.place(&at.block);
        let (rank, warp) = (at.block.rank as usize, at.warp as usize);
        let cluster = &mut self.clusters[place];
        match arrive.level {
            Level::Warp => {}
            Level::Cluster => {
                cluster.arriving[rank][warp] = cluster.now;
                cluster.now += 1;
            }
            Level::Block => {
                let release = Arc::new(cluster.release(rank, at.warp, arrive.mask, 3));
                let block = &mut cluster.blocks[rank];
                let warps = block.warps.len();
                let ahead = match block.ahead.iter_mut().position(|(id, _)| *id == arrive.id) {
                    Some(i) => &mut block.ahead[i].1,
                    None => {
                        block.ahead.push((arrive.id, vec![0; warps]));
                        &mut block.ahead.last_mut().expect("it was just pushed").1
                    }
                };
                ahead[warp] |= arrive.mask;
                let log = self.logs.make(barrier_key(&at.block, arrive.id));
                self.logs.push(log, arrive.mask, release);
            }
        }
    }

    fn complete(&mut self, complete: &Complete<'_>) {
        let place = self.place(&complete.block);
        let rank = complete.block.rank as usize;
        let cluster = &mut self.clusters[place];
        match complete.level {
            Level::Cluster => cluster.cluster_barrier(rank, complete.lanes),
            Level::Warp => {
                if let Some(warp) = complete.lanes.iter().position(|&m| m != 0) {
                    cluster.warp_barrier(rank, warp, complete.lanes[warp]);
                }
            }
            Level::Block => {
                let block = &mut cluster.blocks[rank];
                let ahead = block
                    .ahead
                    .iter()
                    .position(|(id, _)| *id == complete.id)
                    .map(|i| block.ahead.swap_remove(i).1);
                let whole = ahead.is_none()
                    && block
                        .warps
                        .iter()
                        .zip(complete.lanes)
                        .all(|(w, &m)| (m | w.exited) & w.lanes == w.lanes);
                if whole {
                    cluster.block_barrier(rank);
                    return;
                }
                // Some of the threads: what they know goes through a log.
                let log = self.logs.make(barrier_key(&complete.block, complete.id));
                let waiting: Vec<u32> = complete
                    .lanes
                    .iter()
                    .enumerate()
                    .map(|(w, &m)| m & !ahead.as_ref().map_or(0, |a| a[w]))
                    .collect();
                for (w, &mask) in waiting.iter().enumerate().filter(|&(_, &m)| m != 0) {
                    let release = Arc::new(cluster.release(rank, w as u32, mask, 3));
                    self.logs.push(log, mask, release);
                }
                let r = Ref { log, length: self.logs.length(log), scope: 3 };
                for (w, &mask) in waiting.iter().enumerate().filter(|&(_, &m)| m != 0) {
                    self.take(place, rank, w as u32, mask, r, true);
                }
            }
        }
    }

    fn cluster_wait(&mut self, at: &At<'_>) {
        let place = self.place(&at.block);
        self.clusters[place].cluster_wait(at.block.rank as usize, at.warp as usize);
    }

    fn fence(&mut self, at: &At<'_>, order: Order, scope: Scope) {
        let place = self.place(&at.block);
        let (rank, warp) = (at.block.rank as usize, at.warp as usize);
        let cluster = &mut self.clusters[place];
        if order != Order::Release {
            cluster.acquire_pending(rank, warp, at.mask, scope as u8);
        }
        if order != Order::Acquire {
            let release = Arc::new(cluster.release(rank, at.warp, at.mask, scope as u8));
            let fenced = &mut cluster.blocks[rank].warps[warp].fenced;
            fenced.iter_mut().for_each(|(m, _)| *m &= !at.mask);
            fenced.retain(|(m, _)| *m != 0);
            fenced.push((at.mask, release));
        }
    }

    fn mbarrier(&mut self, at: &At<'_>, m: &Mbarrier) {
        let place = self.place(&at.block);
        let (rank, warp) = (at.block.rank as usize, at.warp);
        let key = self.key(at, Space::Shared, m.addr);
        // The object itself is memory: it has to be made before others use it.
        let (strength, kind) = match m.op {
            MbarrierOp::Init(_) | MbarrierOp::Invalidate => (Strength::Weak, Kind::WRITE),
            MbarrierOp::TestFails | MbarrierOp::TestPasses => (Strength::Strong, Kind::READ),
            _ => (Strength::Strong, Kind::WRITE),
        };
        if !matches!(m.op, MbarrierOp::CompleteTx(_)) {
            let entry = self.entry(at, strength, Scope::Sys);
            for lane in lanes(m.mask) {
                let span = Span { lane, space: Space::Shared, address: m.addr, bytes: 8 };
                self.span(at, span, entry.by(1 << lane), kind);
            }
        }
        match m.op {
            MbarrierOp::Init(_) => {
                self.logs.renew(key);
            }
            MbarrierOp::Arrive(_) => {
                let releases = matches!(m.order, Order::Release | Order::AcqRel | Order::SeqCst);
                let whole = releases.then(|| {
                    Arc::new(self.clusters[place].release(rank, warp, m.mask, m.scope as u8))
                });
                let log = self.logs.make(key);
                if let Some(release) = whole {
                    self.logs.push(log, m.mask, release);
                } else {
                    for lane in lanes(m.mask) {
                        if let Some(release) = self.fenced(place, rank, warp, lane) {
                            self.logs.push(log, 1 << lane, release);
                        }
                    }
                }
            }
            MbarrierOp::TestPasses => {
                let log = self.logs.make(key);
                if let Some(length) = self.logs.phase(log, m.phase) {
                    let acquires =
                        matches!(m.order, Order::Acquire | Order::AcqRel | Order::SeqCst);
                    self.take(
                        place,
                        rank,
                        warp,
                        m.mask,
                        Ref { log, length, scope: m.scope as u8 },
                        acquires,
                    );
                }
            }
            _ => {}
        }
        if m.completes {
            let log = self.logs.make(key);
            let cluster = &mut self.clusters[place];
            self.logs.complete(log, m.phase, cluster.now);
            cluster.now += 1;
        }
    }

    fn exit(&mut self, at: &At<'_>, mask: u32) {
        let place = self.place(&at.block);
        self.clusters[place].blocks[at.block.rank as usize].warps[at.warp as usize].exited |= mask;
    }
}

/// The log of a barrier that only some threads of a block use: beyond all shared addresses.
fn barrier_key(block: &Block, id: u32) -> (u64, u64) {
    (block.index + 1, 1 << 40 | u64::from(id))
}
