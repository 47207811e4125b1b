//! A loaded PTX text: its kernels, ready to run.

use crate::ParseError;

/// A PTX text that can be run whole.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) kernels: Vec<Kernel>,
}

impl Module {
    /// Loads a text; the first thing in it that cannot be run is the error.
    pub fn parse(_text: &str) -> Result<Module, ParseError> {
        todo!()
    }

    /// All the things in a text that cannot be run; none where [`Module::parse`] succeeds.
    pub fn missing(_text: &str) -> Vec<ParseError> {
        todo!()
    }

    /// Names of the entries, in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(Kernel::name)
    }

    /// The kernel of that name.
    pub fn kernel(&self, entry: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.name == entry)
    }
}

/// One entry of a module.
#[derive(Debug, Clone)]
pub struct Kernel {
    name: String,
    lines: Vec<u32>,
    ptx_lines: Vec<u32>,
    texts: Vec<String>,
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
