//! Finds state that a launch leaves behind. Because of such state, the first atomic at an address
//! finds a different value than in the previous launch of the same kernel.
//!
//! If a ticket counter is not reset, the first launch is correct, but every later launch is wrong.
//! State that a launch leaves behind is not a fault in itself, because a counter may be meant to
//! continue. However, it explains why a second sum differs from the first, so this observer is used
//! only if the sums differ.

use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::bits::lanes;
use super::finding::{Fault, Finding};
use super::found::{Found, Key};
use super::scene::Scene;
use crate::inst::{AtomOp, Op, Ty};
use crate::model::{AccessKind, Space};
use crate::observer::{Access, At, HostEvent, LaunchInfo, Observer};
use crate::place::count;

/// Finds state that a launch leaves behind for the next one.
#[derive(Debug, Clone, Default)]
pub struct State {
    found: Found,
    scene: Option<Arc<Scene>>,
    /// The value that the first atomic of a launch found, by address.
    first: FxHashMap<u64, First>,
    /// The number of values that differ, and that no instruction has used yet.
    open: usize,
    launch: u64,
}

/// The first atomic of a launch at an address.
#[derive(Debug, Clone)]
struct First {
    entry: String,
    launch: u64,
    /// The value that the atomic found.
    value: u64,
    bytes: u64,
    at: Option<Place>,
}

/// The place of an atomic, and the launch of the previous first atomic, which found another value.
/// It is kept until an instruction uses the value.
#[derive(Debug, Clone, Copy)]
struct Place {
    pc: u32,
    block: u64,
    thread: u32,
    operand: u64,
    before: (u64, u64),
}

impl State {
    /// Creates an observer without findings.
    pub fn new() -> State {
        State::default()
    }

    /// Returns the findings.
    pub fn findings(&self) -> &[Finding] {
        self.found.findings()
    }

    /// Handles the first atomic of this launch at an address.
    fn meet(&mut self, at: &At<'_>, lane: u32, address: u64, access: &Access<'_>) {
        let Some(value) = access.found.of(lane) else { return };
        let (entry, launch) = (at.kernel.name().to_owned(), self.launch);
        let bytes = access.bytes().into();
        let before = self.first.remove(&address);
        let changed = before.filter(|b| b.entry == entry && b.value != value);
        let place = changed.map(|before| Place {
            pc: at.pc,
            block: at.block.index,
            thread: at.linear(lane),
            operand: access.operand.of(lane).unwrap_or_default(),
            before: (before.value, before.launch),
        });
        self.open += usize::from(place.is_some());
        self.first.insert(address, First { entry, launch, value, bytes, at: place });
    }

    /// Handles an instruction that uses the value at an address. Records a finding if the first
    /// atomic found another value than in the previous launch of the same kernel.
    #[cold]
    fn used(&mut self, address: u64) {
        let launch = self.launch;
        let Some(first) = self.first.get_mut(&address).filter(|first| first.launch == launch)
        else {
            return;
        };
        let (Some(scene), Some(place)) = (&self.scene, first.at.take()) else { return };
        self.open -= 1;
        let (pc, value) = (place.pc, first.value);
        self.found.add(Key::new(Fault::LeftBehind, Some(Space::Global), pc), 1, || {
            let (name, _) = scene.element(Space::Global, address, pc);
            let (old, earlier) = place.before;
            let [value, old] = [value, old].map(|value| shown(scene, pc, value));
            let detail = format!(
                "{name} is {value} for the first atomic of launch {launch}, at {}, but was {old} \
                 for that of launch {earlier}",
                scene.kernel.place(pc)
            );
            Finding {
                space: Some(Space::Global),
                address,
                place: name,
                detail,
                cure: reset(scene, place),
                ..scene.finding(
                    Fault::LeftBehind,
                    vec![scene.site(place.block, place.thread, pc, "atomic write")],
                )
            }
        });
    }
}

/// Formats a value that an atomic found, by the type of the atomic.
fn shown(scene: &Scene, pc: u32, value: u64) -> String {
    let ty = match scene.kernel.insts.get(pc as usize).map(|inst| &inst.op) {
        Some(Op::Atomic(atom)) => Some(atom.memory.ty),
        _ => None,
    };
    match ty {
        Some(Ty::F32) => f32::from_bits(value as u32).to_string(),
        Some(Ty::F64) => f64::from_bits(value).to_string(),
        Some(Ty::S32) => (value as i32).to_string(),
        Some(Ty::S64) => (value as i64).to_string(),
        _ => value.to_string(),
    }
}

/// Returns the remedy for a value that a launch does not reset.
fn reset(scene: &Scene, place: Place) -> String {
    let last = scene.blocks().saturating_sub(1);
    let operand = place.operand;
    match scene.kernel.insts.get(place.pc as usize).map(|inst| &inst.op) {
        Some(Op::Atomic(atom)) if atom.op == AtomOp::Inc && operand == last => format!(
            "its limit is {operand}, so it returns to 0 after {}; let each block of the launch \
             increment it once",
            count(operand + 1, "increment")
        ),
        Some(Op::Atomic(atom)) if atom.op == AtomOp::Inc => format!(
            "its limit is {operand}, and `atomicInc` resets it only after {}; use the limit \
             gridDim.x - 1, which is {last}",
            count(operand.saturating_add(1), "increment")
        ),
        Some(Op::Atomic(atom)) if atom.op == AtomOp::Add && operand == 1 => {
            "let the last block of a launch reset it, as `atomicInc` with the limit gridDim.x - 1 \
             does"
                .into()
        }
        _ => "let the last block of a launch reset it to 0, for example with `atomicExch`, which \
              also returns the value"
            .into(),
    }
}

impl Observer for State {
    /// Creates an empty observer. The fork receives no atomics, because all blocks of a kernel with
    /// atomics report to one observer.
    fn fork(&self) -> State {
        State::default()
    }

    fn merge(&mut self, _: State) {}

    fn host(&mut self, event: HostEvent) {
        // A write by the host resets the state intentionally.
        let (from, bytes) = match event {
            HostEvent::Alloc { base, bytes, .. }
            | HostEvent::Free { base, bytes, .. }
            | HostEvent::Forget { base, bytes, .. }
            | HostEvent::Write { base, bytes } => (base, bytes),
            HostEvent::Read { .. } => return,
        };
        self.first
            .retain(|&address, first| address + first.bytes <= from || from + bytes <= address);
    }

    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
        (self.launch, self.open) = (launch.number, 0);
        self.found.begin(launch.kernel.name(), launch.number);
        self.scene = Some(Arc::new(Scene::new(launch)));
    }

    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {
        if access.space != Space::Global {
            return;
        }
        if access.kind.is_atomic() {
            for lane in lanes(access.mask) {
                let address = access.addrs[lane as usize];
                let met = self.first.get(&address).is_some_and(|f| f.launch == self.launch);
                if !met {
                    self.meet(at, lane, address, access);
                }
            }
        }
        // A `red` instruction returns no value, so no result depends on the old value yet.
        if self.open == 0 || !matches!(access.kind, AccessKind::Atomic | AccessKind::Load) {
            return;
        }
        for lane in lanes(access.mask) {
            let first = access.addrs[lane as usize];
            for element in 0..u64::from(access.vector) {
                self.used(first + element * u64::from(access.width));
            }
        }
    }
}
