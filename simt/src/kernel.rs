//! A decoded entry of a module, with its instructions and the resources that they need.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::alu::fast::{Doubles, Words};
use crate::flow::Flow;
use crate::guesses;
use crate::inst::{Alu, Dst, F, Inst, Op, Src, Ty};
use crate::tails::Tails;
use crate::tickets::{self, Decided};

/// The location of a parameter.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    pub(crate) name: String,
}

/// A variable in shared memory.
#[derive(Debug, Clone)]
pub(crate) struct SharedVar {
    /// The name in the source.
    pub(crate) name: String,
    pub(crate) offset: u32,
    /// Size in bytes; `None` if the launch sets it.
    pub(crate) bytes: Option<u32>,
    /// Alignment in bytes.
    pub(crate) align: u32,
}

/// A variable of a module in global or constant memory.
#[derive(Debug, Clone)]
pub(crate) struct ModuleVar {
    /// The name in the source.
    pub(crate) name: String,
    /// The offset from the first variable of the module.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// One entry of a module.
#[derive(Debug, Clone, Default)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) insts: Vec<Inst>,
    pub(crate) lines: Vec<u32>,
    /// The places of instructions whose source is in an included file.
    pub(crate) included: Vec<Option<Arc<str>>>,
    pub(crate) ptx_lines: Vec<u32>,
    /// The PTX lines that the compiler copied from inline assembly.
    pub(crate) assembly: Arc<[Range<u32>]>,
    pub(crate) texts: Vec<String>,
    /// The numbers of registers of up to 32 bits, of registers of 64 bits, and of predicates.
    pub(crate) planes: [usize; 3],
    /// Constants, expanded to planes.
    pub(crate) words: Vec<Words>,
    pub(crate) doubles: Vec<Doubles>,
    pub(crate) params: Vec<Param>,
    pub(crate) static_shared: u32,
    /// The offset of dynamic shared memory.
    pub(crate) dynamic_base: u32,
    pub(crate) local: u32,
    pub(crate) shared_vars: Vec<SharedVar>,
    pub(crate) module_vars: Arc<[ModuleVar]>,
    /// The target architecture of the PTX, such as `sm_60`.
    pub(crate) target: String,
    pub(crate) interacts: bool,
    /// Whether the kernel uses the bounds of the system's shared memory.
    pub(crate) reserved: bool,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) reqntid: Option<[u32; 3]>,
    pub(crate) maxntid: Option<[u32; 3]>,
    pub(crate) minnctapersm: Option<u32>,
    pub(crate) maxnreg: Option<u32>,
    /// The registers that may be uninitialized, computed at the first launch that tracks them.
    pub(crate) flow: OnceLock<Option<Arc<Flow>>>,
    /// The instructions after skipped block barriers, computed when they are first needed.
    pub(crate) tails: OnceLock<Arc<Tails>>,
    /// The instructions that run only if an atomic or a load returned a certain value, computed when
    /// they are first needed.
    pub(crate) decided: OnceLock<Arc<Decided>>,
    /// For each instruction, whether it is a load whose value is only a guess; this is computed when
    /// it is first needed.
    pub(crate) guesses: OnceLock<Arc<[bool]>>,
}

/// The narrow integers of an instruction that computes 64 bits from 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Narrow {
    /// The number of narrow operands.
    pub operands: usize,
    /// Whether they are signed.
    pub signed: bool,
    /// The least magnitude that does not fit; a mask may keep bits above the lowest 32.
    pub range: u64,
}

impl Kernel {
    /// Returns the name of the entry.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of instructions.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns whether the kernel has no instructions.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the registers to track because they may be uninitialized, if there are any.
    pub(crate) fn flow(&self) -> Option<&Arc<Flow>> {
        self.flow.get_or_init(|| Flow::new(&self.insts).map(Arc::new)).as_ref()
    }

    /// Returns the instructions after skipped block barriers.
    pub(crate) fn tails(&self) -> &Tails {
        self.tails.get_or_init(|| Arc::new(Tails::new(&self.insts)))
    }

    /// Returns the instructions that run only if an atomic or a load returned a certain value.
    pub(crate) fn decided(&self) -> &Decided {
        self.decided.get_or_init(|| Arc::new(tickets::decided(&self.insts)))
    }

    /// Returns, for each instruction, whether it is a load whose value is only a guess, which a
    /// compare-and-swap confirms.
    pub(crate) fn guesses(&self) -> &[bool] {
        self.guesses.get_or_init(|| guesses::of(self).into())
    }

    /// Returns the size of each parameter, in bytes.
    pub fn params(&self) -> impl Iterator<Item = u32> {
        self.params.iter().map(|p| p.bytes)
    }

    /// Returns the source name of a parameter; `None` if it is known only by its number, as in
    /// compiled PTX.
    pub fn parameter(&self, index: usize) -> Option<&str> {
        let name = self.params.get(index)?.name.as_str();
        let own = name.strip_prefix(self.name.as_str());
        let numbered = own.is_some_and(|rest| rest.starts_with("_param_"));
        (!numbered).then_some(name)
    }

    /// Returns the number of bytes of shared memory that precede the dynamic part, for a launch
    /// with `dynamic` bytes of dynamic shared memory.
    pub(crate) fn shared_bytes(&self, dynamic: u32) -> u32 {
        if dynamic == 0 { self.static_shared } else { self.dynamic_base }
    }

    /// Returns the target architecture of the PTX, such as `sm_60`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns whether the target is older than sm_70; on such targets, lanes do not have their own
    /// program counters.
    pub(crate) fn is_before_volta(&self) -> bool {
        crate::arch::number(&self.target).is_some_and(|number| number < 70)
    }

    /// Returns the number of bytes of static shared memory.
    pub fn static_shared(&self) -> u32 {
        self.static_shared
    }

    /// Returns the line of an instruction in the kernel's CUDA source, or 0 if the PTX has none.
    pub fn line(&self, pc: u32) -> u32 {
        self.lines.get(pc as usize).copied().unwrap_or(0)
    }

    /// Returns the PTX line of an instruction.
    pub fn ptx_line(&self, pc: u32) -> u32 {
        self.ptx_lines.get(pc as usize).copied().unwrap_or(0)
    }

    /// Returns whether an instruction comes from inline assembly.
    pub(crate) fn is_assembly(&self, pc: u32) -> bool {
        let line = self.ptx_line(pc);
        self.assembly.iter().any(|lines| lines.contains(&line))
    }

    /// Names the place of an instruction: a line of the source, with the line of an included file
    /// whose function is called there; the line of an included file alone; or a PTX line if the PTX
    /// gives no source line.
    pub fn place(&self, pc: u32) -> String {
        let included = self.included.get(pc as usize).and_then(Option::as_deref);
        match (self.line(pc), included) {
            (0, Some(place)) => place.to_owned(),
            (0, None) => format!("PTX line {}", self.ptx_line(pc)),
            (line, None) => format!("line {line}"),
            (line, Some(place)) => format!("line {line} ({place})"),
        }
    }

    /// Returns whether the kernel's blocks may communicate.
    pub fn interacts(&self) -> bool {
        self.interacts
    }

    /// Returns the maximum number of registers per thread that the kernel's directives allow.
    pub fn most_registers(&self) -> Option<u32> {
        let threads = self.maxntid?.iter().product::<u32>().max(1);
        let shared = self.minnctapersm.map(|blocks| (65536 / (blocks * threads).max(1)) & !7);
        self.maxnreg.into_iter().chain(shared).min()
    }

    /// Returns the narrow integers of an instruction that computes 64 bits from 32 bits: by a
    /// conversion, by a product, or by a mask without the high bits, which compilers use for a
    /// conversion and a shift. The dividend of a 32-bit division is also narrow if it was computed
    /// with 32 bits.
    pub fn widens(&self, pc: u32) -> Option<Narrow> {
        let Op::Alu { alu, src, .. } = &self.insts.get(pc as usize)?.op else { return None };
        if !alu.may_widen() {
            return None;
        }
        let narrow = |operands, signed| {
            Some(Narrow { operands, signed, range: if signed { 1 << 31 } else { 1 << 32 } })
        };
        match alu.f {
            F::And => {
                let mask = match src[1] {
                    Src::Imm(mask) => mask,
                    Src::ConstD(i) => self.doubles.get(i as usize)?[0],
                    _ => return None,
                };
                let range = mask.checked_add(mask & mask.wrapping_neg())?;
                (range.is_power_of_two() && range >= 1 << 32).then_some(Narrow {
                    operands: 1,
                    signed: false,
                    range,
                })
            }
            F::Div | F::Rem if self.is_cut(pc, src[0]) => None,
            F::Div | F::Rem => narrow(1, alu.ty == Ty::S32),
            F::Cvt { .. } if self.divides_fast(pc, src[0]) => None,
            F::Cvt { from, .. } => narrow(1, from == Ty::S32),
            _ => narrow(2, alu.ty == Ty::S32),
        }
    }

    /// Returns whether a value is the result of a 32-bit division that replaces a 64-bit division of
    /// small numbers. Compilers write both divisions and a branch.
    fn divides_fast(&self, pc: u32, value: Src) -> bool {
        let divides = |alu: &Alu| matches!(alu.f, F::Div | F::Rem) && !alu.ty.is_float();
        let wide = |inst: &Inst| matches!(&inst.op, Op::Alu { alu, .. } if divides(alu) && alu.ty.bits() == 64);
        self.last(pc, value).is_some_and(divides) && self.insts.iter().any(wide)
    }

    /// Returns whether a value is the lower half of 64 bits.
    fn is_cut(&self, pc: u32, value: Src) -> bool {
        self.last(pc, value)
            .is_some_and(|alu| matches!(alu.f, F::Cvt { from, .. } if from.bits() == 64))
    }

    /// Returns the last arithmetic before an instruction that writes a register.
    fn last(&self, pc: u32, register: Src) -> Option<&Alu> {
        let Src::W(register) = register else { return None };
        self.insts[..pc as usize].iter().rev().find_map(|inst| match &inst.op {
            Op::Alu { alu, dst, .. } if *dst == Dst::W(register) => Some(alu),
            _ => None,
        })
    }

    /// Returns the target of a branch.
    pub fn branches_to(&self, pc: u32) -> Option<u32> {
        match self.insts.get(pc as usize)?.op {
            Op::Branch(target) => Some(target),
            _ => None,
        }
    }

    /// Returns the PTX of an instruction.
    pub fn text(&self, pc: u32) -> &str {
        self.texts.get(pc as usize).map_or("", String::as_str)
    }
}
