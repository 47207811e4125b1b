//! Maps each PTX instruction to machine instructions: their kind, their number, and the registers
//! that they read and write.
//!
//! The rules imitate ptxas, but cover only the instructions that occur in kernels that compute
//! sums. The test `slots_are_those_of_ptxas` compares the totals with the instruction counts from
//! GPUs.

use rustc_hash::{FxHashMap, FxHashSet};
use simt::Kernel;

/// The kind of an instruction, which selects its row in the table of a [`Gpu`](crate::Gpu).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Integer and logic operations.
    Int,
    /// Integer multiplication.
    Mad,
    /// 64-bit integer operations, which take two machine instructions.
    Wide,
    /// `f32` arithmetic.
    Float,
    /// `f64` arithmetic.
    Double,
    /// Integer division and remainder.
    Remainder,
    /// Reads of special registers.
    Special,
    /// Reads of arguments and other constants.
    Constant,
    /// Shuffles and votes.
    Shuffle,
    /// Warp-wide reductions (`redux`).
    Redux,
    /// Loads from shared memory.
    Shared,
    /// Stores to shared memory.
    SharedStore,
    /// Warp barriers (`__syncwarp()`).
    WarpBarrier,
    /// Branches, exits, and global memory accesses, whose latency depends on the memory throughput.
    Other,
}

impl Kind {
    /// The number of kinds.
    pub const COUNT: usize = 14;

    /// All kinds, in the order of their discriminants.
    pub const ALL: [Kind; Kind::COUNT] = [
        Kind::Int,
        Kind::Mad,
        Kind::Wide,
        Kind::Float,
        Kind::Double,
        Kind::Remainder,
        Kind::Special,
        Kind::Constant,
        Kind::Shuffle,
        Kind::Redux,
        Kind::Shared,
        Kind::SharedStore,
        Kind::WarpBarrier,
        Kind::Other,
    ];

    /// Returns the name of the kind in the table of a GPU.
    pub(crate) fn key(self) -> Option<&'static str> {
        Some(match self {
            Kind::Int => "int",
            Kind::Mad => "mad",
            Kind::Wide => "wide",
            Kind::Float => "float",
            Kind::Double => "double",
            Kind::Remainder => "remainder",
            Kind::Special => "special",
            Kind::Shuffle => "shuffle",
            Kind::Redux => "redux",
            Kind::Shared => "shared",
            Kind::SharedStore => "shared_store",
            Kind::Constant | Kind::WarpBarrier | Kind::Other => return None,
        })
    }

    /// Returns the number of machine instructions in the operation that the probes time.
    pub(crate) fn probed(self) -> f64 {
        match self {
            Kind::Wide => 2.0,
            Kind::Remainder => 18.0,
            _ => 1.0,
        }
    }

    /// Returns the kind whose unit executes the instructions of this kind. Most machine
    /// instructions of 64-bit sums and of remainders are integer instructions.
    pub(crate) fn unit(self) -> usize {
        match self {
            Kind::Wide | Kind::Remainder => Kind::Int as usize,
            kind => kind as usize,
        }
    }

    /// Returns whether the unit is shared by all schedulers of the multiprocessor.
    pub(crate) fn is_shared_unit(self) -> bool {
        matches!(self, Kind::Shuffle | Kind::Redux | Kind::Shared | Kind::SharedStore)
    }
}

/// One PTX instruction.
#[derive(Clone, Debug)]
pub struct Inst {
    /// The kind of the machine instructions that ptxas generates for this instruction.
    pub kind: Kind,
    /// The number of machine instructions; 0 if ptxas needs none.
    pub slots: u16,
    /// The registers that the instruction reads, including the guard.
    pub reads: Vec<u16>,
    /// The registers that the instruction writes.
    pub writes: Vec<u16>,
    /// For a short forward branch, which ptxas replaces with predication: its target, the number of
    /// machine instructions that it skips, and the number of these that access shared memory.
    pub skips: Option<(u32, [u16; 2])>,
    /// Whether the warp waits for all warps of the block.
    pub barrier: bool,
    /// Whether the instruction may jump.
    pub branch: bool,
    /// Whether the instruction orders memory accesses.
    pub fence: bool,
}

/// The code of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The instructions of the kernel, in order.
    pub insts: Vec<Inst>,
    /// For each instruction, the index of the line of machine code that contains it; each line
    /// holds eight machine instructions.
    pub lines: Vec<u32>,
    /// For each instruction, its line of the CUDA source, or 0 if it has none.
    pub source: Vec<u32>,
    /// Whether a warp may poll: a short loop repeats an atomic or an ordered load until its value
    /// changes. The number of repetitions depends on timing.
    pub polls: bool,
    /// The number of PTX registers.
    pub registers: usize,
    /// The maximum number of 32-bit registers that are live at the same time.
    pub live: u32,
}

/// The maximum length, in PTX instructions, of a branch body that ptxas replaces with predication.
const PREDICATED: usize = 10;

/// The maximum length, in PTX instructions, of a loop that counts as polling.
const POLLING: usize = 12;

impl Code {
    /// Reads the PTX of a kernel.
    pub fn of(kernel: &Kernel) -> Code {
        let mut names = FxHashMap::default();
        let mut shared = FxHashSet::default();
        let mut scaled = FxHashSet::default();
        let mut insts: Vec<Inst> = Vec::new();
        for pc in 0..kernel.len() as u32 {
            let words = Words::of(kernel.text(pc));
            let (kind, slots) = words.cost(&mut shared, &mut scaled);
            let mut number = |name: &str| {
                let next = names.len() as u16;
                *names.entry(name.to_owned()).or_insert(next)
            };
            let (writes, reads) = words.operands();
            insts.push(Inst {
                kind,
                slots,
                reads: reads.into_iter().map(&mut number).collect(),
                writes: writes.into_iter().map(&mut number).collect(),
                skips: None,
                branch: kernel.branches_to(pc).is_some(),
                barrier: matches!(words.base(), "bar" | "barrier") && !words.op.contains("warp"),
                fence: matches!(words.base(), "membar" | "fence") && !words.op.contains("mbarrier"),
            });
        }
        for pc in 0..insts.len() {
            let Some(target) = kernel.branches_to(pc as u32) else { continue };
            let body = pc + 1..target as usize;
            let short = insts[pc].reads.len() == 1 && body.len() <= PREDICATED && body.end > pc;
            let plain = |at: usize| {
                let inst = &insts[at];
                kernel.branches_to(at as u32).is_none()
                    && !inst.barrier
                    && !inst.fence
                    && !matches!(inst.kind, Kind::Shuffle | Kind::Redux | Kind::WarpBarrier)
                    && !kernel.text(at as u32).contains("ret")
            };
            if short && !body.is_empty() && body.clone().all(plain) {
                let slots = body.clone().map(|at| insts[at].slots).sum();
                let is_shared =
                    |&at: &usize| matches!(insts[at].kind, Kind::Shared | Kind::SharedStore);
                let shared = body.filter(is_shared).count() as u16;
                insts[pc].skips = Some((target, [slots, shared]));
            }
        }
        let mut slots = 0;
        let lines =
            insts.iter().map(|inst| (slots / 8, slots += u32::from(inst.slots)).0).collect();
        let wide = |name: &str| name.starts_with("%rd") || name.starts_with("%fd");
        let mut sizes = vec![1; names.len()];
        for (name, &index) in &names {
            sizes[index as usize] =
                if name.starts_with("%p") { 0 } else { 1 + u32::from(wide(name)) };
        }
        let live = live(kernel, &insts, &sizes);
        let polls = (0..insts.len()).any(|pc| {
            let back = kernel.branches_to(pc as u32).map(|target| target as usize);
            back.is_some_and(|to| {
                to <= pc
                    && pc - to <= POLLING
                    && (to..=pc).any(|at| {
                        let words = Words::of(kernel.text(at as u32));
                        let ordered =
                            ["volatile", "acquire", "relaxed"].iter().any(|part| words.has(part));
                        words.base() == "atom"
                            || words.base() == "ld" && ordered && !words.has("shared")
                    })
            })
        });
        let source = (0..insts.len() as u32).map(|pc| kernel.line(pc)).collect();
        Code { insts, lines, source, polls, registers: names.len(), live }
    }
}

/// Returns the maximum number of 32-bit registers that are live at one instruction.
fn live(kernel: &Kernel, insts: &[Inst], sizes: &[u32]) -> u32 {
    let mut before: Vec<FxHashSet<u16>> = vec![FxHashSet::default(); insts.len() + 1];
    let mut most = 0;
    loop {
        let mut changed = false;
        for pc in (0..insts.len()).rev() {
            let (inst, target) = (&insts[pc], kernel.branches_to(pc as u32));
            let jumps = target.is_some() && inst.reads.is_empty();
            let mut live = if jumps { FxHashSet::default() } else { before[pc + 1].clone() };
            if let Some(target) = target {
                live.extend(before[target as usize].iter().copied());
            }
            inst.writes.iter().for_each(|register| _ = live.remove(register));
            live.extend(inst.reads.iter().copied());
            if live.len() > before[pc].len() {
                most = most.max(live.iter().map(|&register| sizes[register as usize]).sum());
                before[pc] = live;
                changed = true;
            }
        }
        if !changed {
            return most;
        }
    }
}

/// The text of an instruction, split into its guard, its opcode, and its operands.
struct Words<'t> {
    guard: Option<&'t str>,
    op: &'t str,
    rest: &'t str,
}

impl<'t> Words<'t> {
    fn of(text: &'t str) -> Words<'t> {
        let text = text.trim().trim_end_matches(';');
        let (guard, text) = match text.strip_prefix('@') {
            Some(text) => {
                let (guard, text) = text.split_once([' ', '\t']).unwrap_or((text, ""));
                (Some(guard.trim_start_matches('!')), text.trim_start())
            }
            None => (None, text),
        };
        let (op, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        Words { guard, op, rest }
    }

    fn base(&self) -> &'t str {
        self.op.split('.').next().unwrap_or_default()
    }

    fn has(&self, part: &str) -> bool {
        self.op.split('.').any(|at| at == part)
    }

    /// Returns the registers of each operand.
    fn registers(&self) -> Vec<Vec<&'t str>> {
        let mut depth = 0;
        let mut all = vec![Vec::new()];
        let mut from = None;
        for (at, c) in self.rest.char_indices().chain([(self.rest.len(), ',')]) {
            if let Some(start) = from
                && !(c.is_alphanumeric() || c == '_' || c == '.')
            {
                let name: &str = &self.rest[start..at];
                if !name.contains('.') {
                    all.last_mut().expect("never empty").push(name);
                }
                from = None;
            }
            match c {
                '%' => from = Some(at),
                '{' | '[' => depth += 1,
                '}' | ']' => depth -= 1,
                ',' if depth == 0 => all.push(Vec::new()),
                '|' => all.push(Vec::new()),
                _ => {}
            }
        }
        all
    }

    /// Returns the registers that the instruction writes, and those that it reads.
    fn operands(&self) -> (Vec<&'t str>, Vec<&'t str>) {
        let stores = matches!(
            self.base(),
            "st" | "bra"
                | "ret"
                | "exit"
                | "bar"
                | "barrier"
                | "membar"
                | "fence"
                | "red"
                | "cp"
                | "mbarrier"
        ) && !self.has("try_wait");
        let operands = self.registers();
        let (first, rest) = operands.split_first().expect("never empty");
        // A shuffle has a second destination, a predicate after `|`.
        let results = if self.rest.contains('|') { 1 } else { 0 };
        let (more, rest) = rest.split_at(results.min(rest.len()));
        let mut reads: Vec<&str> = rest.iter().flatten().copied().chain(self.guard).collect();
        let mut writes: Vec<&str> = first.iter().chain(more.iter().flatten()).copied().collect();
        if stores {
            reads.append(&mut writes);
        }
        (writes, reads)
    }

    /// Returns the kind and the number of the machine instructions. `shared` contains the registers
    /// that hold shared memory addresses, which have 32 bits in machine code. `scaled` contains the
    /// registers that hold products; ptxas folds each product into the addition that uses it.
    fn cost(
        &self,
        shared: &mut FxHashSet<&'t str>,
        scaled: &mut FxHashSet<&'t str>,
    ) -> (Kind, u16) {
        let registers = self.registers();
        let result = registers[0].first().copied();
        let any = |set: &FxHashSet<&str>| registers[1..].iter().flatten().any(|r| set.contains(r));
        let in_shared = any(shared);
        let bits64 = ["u64", "s64", "b64"].iter().any(|part| self.has(part));
        let float = self.has("f32");
        match self.base() {
            "mov" => {
                let operand = self.rest.split(',').nth(1).unwrap_or_default().trim();
                let symbol =
                    operand.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$');
                if let (true, Some(result)) = (symbol || in_shared, result) {
                    shared.insert(result);
                }
                let of = |names: &[&str]| names.iter().any(|name| operand.starts_with(name));
                if of(&["%tid", "%ctaid", "%laneid"]) {
                    (Kind::Special, 1)
                } else if of(&["%ntid", "%nctaid"]) {
                    (Kind::Constant, 1)
                } else if symbol {
                    // The instructions that compute the base of the shared memory window: reads of
                    // a special register and of a constant, and an addition.
                    (Kind::Constant, 3)
                } else {
                    // Constants and copies become operands of other instructions.
                    (Kind::Int, 0)
                }
            }
            "ld" if self.has("param") || self.has("const") => (Kind::Constant, 1),
            "ld" if self.has("shared") => (Kind::Shared, 1),
            "st" if self.has("shared") => (Kind::SharedStore, 1),
            "ld" | "st" | "atom" | "red" | "cp" => (Kind::Other, 1),
            "mbarrier" if self.has("try_wait") || self.has("test_wait") => (Kind::Shared, 1),
            "mbarrier" => (Kind::SharedStore, 1),
            "bra" | "ret" | "exit" | "bar" | "barrier" | "membar" | "fence"
                if !self.op.contains("warp") =>
            {
                (Kind::Other, 1)
            }
            "bar" => (Kind::WarpBarrier, 1),
            "shfl" | "vote" | "match" => (Kind::Shuffle, 1),
            "redux" => (Kind::Redux, 1),
            "cvta" => (Kind::Int, 0),
            "cvt" if float || self.has("f64") => (Kind::Special, 1),
            "cvt" => (Kind::Int, 0),
            "div" | "rem" if float => (Kind::Float, 10),
            "div" | "rem" if bits64 => (Kind::Remainder, 60),
            "div" | "rem" => (Kind::Remainder, 17),
            "mul" | "mad" | "fma" if float => (Kind::Float, 1),
            _ if self.has("f64") => (Kind::Double, 1),
            _ if float => (Kind::Float, 1),
            "mul" | "mad" if self.has("wide") => {
                scaled.extend(result.filter(|_| self.base() == "mul"));
                (Kind::Mad, u16::from(self.base() == "mad"))
            }
            "mul" | "mad" if bits64 => (Kind::Mad, 3),
            "mul" | "mad" => (Kind::Mad, 1),
            "shl" if bits64 => {
                scaled.extend(result);
                (Kind::Int, 0)
            }
            "add" | "sub" if bits64 && in_shared => {
                shared.extend(result);
                (Kind::Int, 1)
            }
            "add" if bits64 && any(scaled) => (Kind::Mad, 1),
            _ if bits64 => (Kind::Wide, 2),
            _ => (Kind::Int, 1),
        }
    }
}

#[cfg(test)]
mod tests;
