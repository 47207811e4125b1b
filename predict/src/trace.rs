//! Records the instructions that the warps of a few blocks execute.

use std::{ops::Range, sync::Arc};

use rustc_hash::FxHashMap;
use simt::{
    Launch, Module,
    observer::{
        Access, AccessKind, At, Block, Copy, LaunchInfo, Mbarrier, MbarrierOp, Observer, Order,
        Space,
    },
};

use crate::code::{Code, Inst};

/// One executed instruction of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The index of the instruction in the kernel.
    pub pc: u32,
    /// The effect of the instruction, apart from its register operands.
    pub what: What,
}

/// The effect of an instruction, apart from its register operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The instruction has no further effect.
    Plain,
    /// A branch that ptxas replaces with predication. If no lane of the warp executes the body, the
    /// body's machine instructions still issue, but have no effect; the two fields are the number
    /// of these instructions, and the number of those that use the shared memory unit.
    Skipped([u16; 2]),
    /// A shared memory access, with its number of passes over the banks.
    Shared(u16),
    /// A load from global memory.
    Load {
        /// The number of 32-byte sectors.
        sectors: u16,
        /// Whether the sectors are part of the input, which is not in L2.
        far: bool,
    },
    /// A store to global memory.
    Store {
        /// The number of 32-byte sectors.
        sectors: u16,
    },
    /// An atomic operation.
    Atomic,
    /// A bulk copy into shared memory, which completes a phase of a barrier.
    Copy {
        /// The number of bytes.
        bytes: u32,
        /// The address of the barrier.
        barrier: u32,
    },
    /// A wait for a phase of a barrier; phases are numbered from 0.
    Wait {
        /// The address of the barrier.
        barrier: u32,
        /// The number of the phase.
        phase: u32,
    },
}

/// The recorded blocks of a launch.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    /// For each block that was recorded: its index, and the instructions of each warp.
    pub blocks: Vec<(u64, Vec<Vec<Op>>)>,
    /// The code of the kernel.
    pub code: Arc<Code>,
    /// The number of threads per block.
    pub threads: u32,
    /// The shared memory per block, in bytes.
    pub shared: u32,
    /// The maximum number of registers per thread, if the kernel limits it.
    pub most_registers: Option<u32>,
    /// For each recorded block, the number of atomic operations on global memory in all of its
    /// lanes. Atomic operations on one address are serialized.
    pub atomics: Vec<u64>,
}

impl Blocks {
    /// Moves loads, and the instructions on which they depend, to the front of their basic blocks,
    /// as ptxas does.
    fn schedule(&mut self) {
        let insts = &self.code.insts;
        for ops in self.blocks.iter_mut().flat_map(|(_, warps)| warps) {
            let ends = |a: &Op, b: &Op| {
                let plain = matches!(a.what, What::Plain | What::Load { .. });
                let inst = &insts[a.pc as usize];
                b.pc == a.pc + 1 && plain && !inst.branch && !inst.barrier && !inst.fence
            };
            let lengths: Vec<usize> = ops.chunk_by(ends).map(<[Op]>::len).collect();
            let mut rest = ops.as_mut_slice();
            for length in lengths {
                let (block, after) = rest.split_at_mut(length);
                loads_first(insts, block);
                rest = after;
            }
        }
    }
}

fn loads_first(insts: &[Inst], block: &mut [Op]) {
    if !block.iter().any(|op| matches!(op.what, What::Load { .. })) {
        return;
    }
    // From the last instruction to the first, mark the instructions that a load depends on.
    let mut needed: Vec<u16> = Vec::new();
    let mut early = vec![false; block.len()];
    for (op, early) in block.iter().zip(&mut early).rev() {
        let inst = &insts[op.pc as usize];
        if matches!(op.what, What::Load { .. }) || inst.writes.iter().any(|r| needed.contains(r)) {
            *early = true;
            needed.retain(|register| !inst.writes.contains(register));
            needed.extend(&inst.reads);
        }
    }
    // If an instruction would move ahead of another instruction that reads or writes its result
    // register, the block stays unchanged.
    let mut late: Vec<u16> = Vec::new();
    for (op, early) in block.iter().zip(&early) {
        let inst = &insts[op.pc as usize];
        if !early {
            late.extend(inst.reads.iter().chain(&inst.writes));
        } else if inst.writes.iter().any(|register| late.contains(register)) {
            return;
        }
    }
    let order = |wanted: bool| block.iter().zip(&early).filter(move |(_, early)| **early == wanted);
    let moved: Vec<Op> = order(true).chain(order(false)).map(|(op, _)| *op).collect();
    block.copy_from_slice(&moved);
}

/// Runs the `wanted` blocks of a launch, and returns the instructions that they execute. If the
/// blocks may communicate, the whole grid runs.
///
/// `far` is the address range of the input, which is not in L2.
pub fn record(
    gpu: &mut simt::Gpu,
    module: &Module,
    launch: &Launch<'_>,
    wanted: &[u64],
    far: Range<u64>,
) -> Result<Blocks, simt::Error> {
    let together = module.kernel(launch.entry).is_some_and(simt::Kernel::interacts);
    let recorder = || Recorder { wanted: wanted.to_vec(), far: far.clone(), ..Recorder::default() };
    let mut all = recorder();
    if together {
        gpu.launch(module, launch, &mut all)?;
        all.recorded.schedule();
        return Ok(all.recorded);
    }
    for &block in wanted {
        let mut one = recorder();
        alone(gpu, module, launch, block, &mut one)?;
        one.recorded.blocks.splice(0..0, all.recorded.blocks);
        one.recorded.atomics.splice(0..0, all.recorded.atomics);
        all.recorded = one.recorded;
    }
    all.recorded.schedule();
    Ok(all.recorded)
}

/// Runs one block without the others, and returns the instructions that it executes. Fails if the
/// block waits for another block.
pub fn record_one(
    gpu: &mut simt::Gpu,
    module: &Module,
    launch: &Launch<'_>,
    block: u64,
    far: Range<u64>,
) -> Result<Blocks, simt::Error> {
    let mut one = Recorder { wanted: vec![block], far, ..Recorder::default() };
    alone(gpu, module, launch, block, &mut one)?;
    one.recorded.schedule();
    Ok(one.recorded)
}

fn alone(
    gpu: &mut simt::Gpu,
    module: &Module,
    launch: &Launch<'_>,
    block: u64,
    recorder: &mut Recorder,
) -> Result<(), simt::Error> {
    gpu.config_mut().blocks = Some(block..block + 1);
    let ran = gpu.launch(module, launch, recorder);
    gpu.config_mut().blocks = None;
    ran.map(drop)
}

/// Records blocks of a launch.
#[derive(Clone, Debug, Default)]
struct Recorder {
    wanted: Vec<u64>,
    /// The addresses of the input.
    far: Range<u64>,
    recorded: Blocks,
    open: FxHashMap<u64, usize>,
    /// For each warp that may be polling: its last poll, and the length of its trace before that
    /// poll.
    polls: FxHashMap<(u64, u32), (u32, u64, usize)>,
}

impl Recorder {
    fn ops(&mut self, at: &At<'_>) -> Option<&mut Vec<Op>> {
        let &index = self.open.get(&at.block.index)?;
        self.recorded.blocks[index].1.get_mut(at.warp as usize)
    }

    /// Sets the effect of the warp's last instruction.
    fn set(&mut self, at: &At<'_>, what: What) {
        let Some(ops) = self.ops(at) else { return };
        match ops.last_mut() {
            Some(op) if op.pc == at.pc && op.what == What::Plain => op.what = what,
            _ => ops.push(Op { pc: at.pc, what }),
        }
    }

    /// Replaces the previous poll if this one repeats it, because the number of polls depends on
    /// timing.
    fn poll(&mut self, at: &At<'_>, address: u64) {
        let key = (at.block.index, at.warp);
        let Some(ops) = self.ops(at) else { return };
        let start = ops.len().saturating_sub(1);
        let before = self.polls.get(&key).copied();
        match before {
            Some((pc, polled, length)) if (pc, polled) == (at.pc, address) => {
                let ops = self.ops(at).expect("it was open");
                let last = ops.pop();
                ops.truncate(length);
                ops.extend(last);
            }
            _ => _ = self.polls.insert(key, (at.pc, address, start)),
        }
    }
}

impl Observer for Recorder {
    fn fork(&self) -> Recorder {
        let blocks = Blocks { blocks: Vec::new(), atomics: Vec::new(), ..self.recorded.clone() };
        Recorder {
            recorded: blocks,
            far: self.far.clone(),
            wanted: self.wanted.clone(),
            ..Recorder::default()
        }
    }

    fn merge(&mut self, fork: Recorder) {
        self.recorded.blocks.extend(fork.recorded.blocks);
        self.recorded.atomics.extend(fork.recorded.atomics);
    }

    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
        self.recorded = Blocks {
            blocks: Vec::new(),
            code: Arc::new(Code::of(launch.kernel)),
            threads: launch.threads(),
            shared: launch.shared,
            most_registers: launch.kernel.most_registers(),
            atomics: Vec::new(),
        };
    }

    fn block_begin(&mut self, launch: &LaunchInfo<'_>, block: &Block) {
        if self.wanted.contains(&block.index) {
            self.open.insert(block.index, self.recorded.blocks.len());
            let warps = vec![Vec::new(); launch.warps() as usize];
            self.recorded.blocks.push((block.index, warps));
            self.recorded.atomics.push(0);
        }
    }

    fn block_end(&mut self, _: &LaunchInfo<'_>, block: &Block) {
        self.open.remove(&block.index);
    }

    #[inline]
    fn inst(&mut self, at: &At<'_>) {
        if self.open.is_empty() {
            return;
        }
        let Some(&index) = self.open.get(&at.block.index) else { return };
        let Blocks { blocks, code, .. } = &mut self.recorded;
        let Some(ops) = blocks[index].1.get_mut(at.warp as usize) else { return };
        if let Some(Op { pc, what }) = ops.last_mut()
            && let Some((target, slots)) = code.insts[*pc as usize].skips
        {
            let jumped = target == at.pc && target > *pc + 1;
            *what = What::Skipped(if jumped { slots } else { [0; 2] });
        }
        ops.push(Op { pc: at.pc, what: What::Plain });
    }

    #[inline]
    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {
        if !self.open.contains_key(&at.block.index) {
            return;
        }
        let first = access.addrs[access.mask.trailing_zeros() as usize];
        let is_atomic = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        if access.space == Space::Global
            && is_atomic
            && let Some(&index) = self.open.get(&at.block.index)
        {
            self.recorded.atomics[index] += u64::from(access.mask.count_ones());
        }
        match (access.space, access.kind) {
            (Space::Shared, AccessKind::Atomic | AccessKind::Reduction) => {
                self.set(at, What::Shared(2 * passes(access)));
            }
            (Space::Shared, _) => self.set(at, What::Shared(passes(access))),
            (Space::Global, AccessKind::Load) => {
                let far = self.far.contains(&first);
                self.set(at, What::Load { sectors: sectors(access), far });
                if access.order != Order::Weak {
                    self.poll(at, first);
                }
            }
            (Space::Global, AccessKind::Store | AccessKind::Reduction) => {
                self.set(at, What::Store { sectors: sectors(access) });
            }
            (Space::Global, AccessKind::Atomic) => {
                self.set(at, What::Atomic);
                self.poll(at, first);
            }
            _ => {}
        }
    }

    fn copy(&mut self, at: &At<'_>, copy: &Copy) {
        let barrier = copy.mbarrier.unwrap_or_default() as u32;
        if copy.from == Space::Global {
            self.set(at, What::Copy { bytes: copy.bytes, barrier });
        }
    }

    fn mbarrier(&mut self, at: &At<'_>, mbarrier: &Mbarrier) {
        match mbarrier.op {
            MbarrierOp::TestPasses => {
                let (barrier, phase) = (mbarrier.addr as u32, mbarrier.phase as u32);
                self.set(at, What::Wait { barrier, phase });
                self.poll(at, mbarrier.addr);
                self.polls.remove(&(at.block.index, at.warp));
            }
            MbarrierOp::TestFails => self.poll(at, mbarrier.addr),
            _ => {}
        }
    }
}

/// Returns the number of passes over the banks. Lanes are grouped so that each group accesses at
/// most 128 bytes; for each group, the busiest bank determines the number of passes, which is the
/// number of different words in this bank; the result is the sum over all groups.
fn passes(access: &Access<'_>) -> u16 {
    let words = u64::from(access.bytes().div_ceil(4).max(1));
    let group = 32 / words.min(8) as usize;
    let mut passes = 0;
    for first in (0..32).step_by(group) {
        let lanes = (first..first + group).filter(|lane| access.mask >> lane & 1 == 1);
        let mut all: Vec<u64> = lanes
            .flat_map(|lane| {
                let word = access.addrs[lane] / 4;
                word..word + words
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        let mut banks = [0; 32];
        all.iter().for_each(|word| banks[(word % 32) as usize] += 1);
        passes += banks.iter().max().copied().unwrap_or(0);
    }
    passes
}

/// Returns the number of different 32-byte sectors that an access touches.
fn sectors(access: &Access<'_>) -> u16 {
    let bytes = u64::from(access.bytes().max(1));
    let lanes = (0..32).filter(|lane| access.mask >> lane & 1 == 1);
    let mut all: Vec<u64> = lanes
        .flat_map(|lane| {
            let from = access.addrs[lane];
            from / 32..=(from + bytes - 1) / 32
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    all.len() as u16
}
