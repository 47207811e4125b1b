//! One entry of a module, decoded: its instructions, and what they need.

use crate::alu::fast::{Doubles, Words};
use crate::inst::Inst;

/// Where a parameter lies.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    pub(crate) name: String,
}

/// A variable in shared memory.
#[derive(Debug, Clone)]
pub(crate) struct SharedVar {
    /// As the source spells it.
    pub(crate) name: String,
    pub(crate) offset: u32,
    /// `None` for what the launch sizes.
    pub(crate) bytes: Option<u32>,
}

/// One entry of a module.
#[derive(Debug, Clone, Default)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) insts: Vec<Inst>,
    pub(crate) lines: Vec<u32>,
    pub(crate) ptx_lines: Vec<u32>,
    pub(crate) texts: Vec<String>,
    /// Registers of up to 32 bits, of 64 bits, and predicates.
    pub(crate) planes: [usize; 3],
    /// Constants, spread over planes.
    pub(crate) words: Vec<Words>,
    pub(crate) doubles: Vec<Doubles>,
    pub(crate) params: Vec<Param>,
    pub(crate) static_shared: u32,
    /// Where dynamic shared memory begins.
    pub(crate) dynamic_base: u32,
    pub(crate) local: u32,
    pub(crate) shared_vars: Vec<SharedVar>,
    /// The architecture that the text is made for, such as `sm_60`.
    pub(crate) target: String,
    pub(crate) interacts: bool,
    /// Whether it asks where the system's own shared memory lies.
    pub(crate) reserved: bool,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) reqntid: Option<[u32; 3]>,
    pub(crate) maxntid: Option<[u32; 3]>,
    pub(crate) maxnreg: Option<u32>,
}

impl Kernel {
    /// Name of the entry.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many instructions it has.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Bytes of each parameter.
    pub fn params(&self) -> impl Iterator<Item = u32> {
        self.params.iter().map(|p| p.bytes)
    }

    /// Bytes of shared memory before that which a launch asks for.
    pub(crate) fn shared_bytes(&self, dynamic: u32) -> u32 {
        if dynamic == 0 { self.static_shared } else { self.dynamic_base }
    }

    /// The architecture that the text is made for, such as `sm_60`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether it is made for GPUs whose lanes have no program counters of their own.
    pub(crate) fn is_before_volta(&self) -> bool {
        crate::arch::number(&self.target).is_some_and(|number| number < 70)
    }

    /// Bytes of static shared memory.
    pub fn static_shared(&self) -> u32 {
        self.static_shared
    }

    /// Line of the CUDA source of an instruction, 0 where the PTX says none.
    pub fn line(&self, pc: u32) -> u32 {
        self.lines.get(pc as usize).copied().unwrap_or(0)
    }

    /// Line of the PTX text of an instruction.
    pub fn ptx_line(&self, pc: u32) -> u32 {
        self.ptx_lines.get(pc as usize).copied().unwrap_or(0)
    }

    /// An instruction as the text spells it.
    pub fn text(&self, pc: u32) -> &str {
        self.texts.get(pc as usize).map_or("", String::as_str)
    }
}
