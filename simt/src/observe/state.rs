//! Finds state that a launch leaves behind. Because of such state, the first atomic at an address
//! finds a different value than in the previous launch of the same kernel.
//!
//! If a ticket counter is not reset, the first launch is correct, but every later launch is wrong.
//! State that a launch leaves behind is not a fault in itself, because a counter may be meant to
//! continue. However, it explains why a second sum differs from the first, so this observer is used
//! only if the sums differ.

use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::finding::{Fault, Finding};
use super::found::{Found, Key};
use super::memory::lanes;
use super::scene::Scene;
use crate::model::{AccessKind, Space};
use crate::observer::{Access, At, HostEvent, LaunchInfo, Observer};

/// Finds state that a launch leaves behind for the next one.
#[derive(Debug, Clone, Default)]
pub struct State {
    found: Found,
    scene: Option<Arc<Scene>>,
    /// The value that the first atomic of a launch found, by address.
    first: FxHashMap<u64, First>,
    launch: u64,
}

/// The value that the first atomic of a launch found.
#[derive(Debug, Clone)]
struct First {
    entry: String,
    launch: u64,
    value: u64,
    bytes: u64,
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

    /// Handles the first atomic of this launch at an address. Records a finding if the atomic finds
    /// a different value than in the previous launch of the same kernel.
    fn meet(&mut self, at: &At<'_>, lane: u32, address: u64, bytes: u64, value: u64) {
        let (Some(scene), launch) = (&self.scene, self.launch) else { return };
        let entry = at.kernel.name().to_owned();
        let met = First { entry, launch, value, bytes };
        let Some(before) = self.first.insert(address, met) else { return };
        if before.entry != at.kernel.name() || before.value == value {
            return;
        }
        self.found.add(Key::new(Fault::LeftBehind, Some(Space::Global), at.pc), 1, || {
            let width = scene.width(at.pc);
            let place = scene.place(Space::Global, address, width);
            let detail = format!(
                "{place} is {value} for the first atomic of launch {launch}, at {}, but was {} \
                 for that of launch {}",
                at.kernel.place(at.pc),
                before.value,
                before.launch
            );
            Finding {
                space: Some(Space::Global),
                address,
                place,
                detail,
                cure: "let the last block of a launch reset it, as `atomicInc` does".into(),
                ..scene.finding(
                    Fault::LeftBehind,
                    vec![scene.site(at.block.index, at.linear(lane), at.pc, "atomic write")],
                )
            }
        });
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
        self.launch = launch.number;
        self.found.begin(launch.kernel.name(), launch.number);
        self.scene = Some(Arc::new(Scene::new(launch)));
    }

    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {
        // A `red` instruction returns no value, so no result depends on the old value.
        if access.kind != AccessKind::Atomic || access.space != Space::Global {
            return;
        }
        for lane in lanes(access.mask) {
            let address = access.addrs[lane as usize];
            if self.first.get(&address).is_some_and(|first| first.launch == self.launch) {
                continue;
            }
            if let Some(value) = access.found.of(lane) {
                self.meet(at, lane, address, access.bytes().into(), value);
            }
        }
    }
}
