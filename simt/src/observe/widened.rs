//! The largest 32-bit integers that a launch converts to 64 bits. An integer that grows with the
//! number of elements wraps in a launch on more of them, which may take too long to run.

use std::collections::BTreeMap;

use super::bits::lanes;
use crate::observer::{At, LaunchInfo, Observer};

/// Collects the largest 32-bit integers that a launch converts to 64 bits.
#[derive(Debug, Clone, Default)]
pub struct Widened {
    /// The largest magnitude, by instruction and operand.
    most: BTreeMap<(u32, usize), u64>,
}

/// A 32-bit operand of an instruction whose result has 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    /// Index of the instruction in the kernel.
    pub pc: u32,
    /// Index of the operand in the instruction.
    pub operand: usize,
    /// The largest magnitude in the launch.
    pub most: u64,
}

impl Widened {
    /// Creates an observer without values.
    pub fn new() -> Widened {
        Widened::default()
    }

    /// Returns the operands in the order of the instructions.
    pub fn operands(&self) -> impl Iterator<Item = Operand> {
        self.most.iter().map(|(&(pc, operand), &most)| Operand { pc, operand, most })
    }

    fn add(&mut self, key: (u32, usize), value: u64) {
        let most = self.most.entry(key).or_default();
        *most = value.max(*most);
    }
}

impl Observer for Widened {
    fn fork(&self) -> Widened {
        Widened::default()
    }

    fn merge(&mut self, fork: Widened) {
        fork.most.into_iter().for_each(|(key, value)| self.add(key, value));
    }

    fn launch_begin(&mut self, _: &LaunchInfo<'_>) {
        self.most.clear();
    }

    fn widened(&mut self, at: &At<'_>, of: impl Fn(usize, usize) -> u64) {
        let Some(narrow) = at.kernel.widens(at.pc) else { return };
        for operand in 0..narrow.operands {
            // A register may have 64 bits, of which the instruction uses 32.
            let magnitude = |lane: u32| match of(operand, lane as usize) {
                value if !narrow.signed => value,
                value if value >> 32 == 0 => (value as u32 as i32).unsigned_abs().into(),
                value => (value as i64).unsigned_abs(),
            };
            if let Some(most) = lanes(at.mask).map(magnitude).max() {
                self.add((at.pc, operand), most);
            }
        }
    }
}
