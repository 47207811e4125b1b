//! A loaded PTX text: its kernels, ready to run.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::ParseError;
use crate::decode;
use crate::kernel::Kernel;
use crate::parse::ast::VarSpace;
use crate::parse::{self, Lines};

/// A PTX text that can be run whole.
#[derive(Debug, Clone)]
pub struct Module {
    /// Tells modules apart: each has its own global variables on a device.
    pub(crate) id: u64,
    pub(crate) kernels: Vec<Kernel>,
    /// Global and constant variables as they are at first.
    pub(crate) image: Vec<u8>,
}

/// Variables of a module, in all: more would be a slip.
const LARGEST_IMAGE: u64 = 1 << 28;

impl Module {
    /// Loads a text; the first thing in it that cannot be run is the error.
    pub fn parse(text: &str) -> Result<Module, ParseError> {
        Module::load(text)
            .map_err(|errors| errors.into_iter().next().expect("a failure has an error"))
    }

    /// All the things in a text that cannot be run; none where [`Module::parse`] succeeds.
    pub fn missing(text: &str) -> Vec<ParseError> {
        Module::load(text).err().unwrap_or_default()
    }

    fn load(source: &str) -> Result<Module, Vec<ParseError>> {
        let lines = Lines::new(source);
        let text = parse::parse(source, &lines).map_err(|e| vec![e])?;
        let mut offsets = Vec::with_capacity(text.vars.len());
        let mut image: Vec<u8> = Vec::new();
        for var in &text.vars {
            if !matches!(var.space, VarSpace::Global | VarSpace::Const) {
                offsets.push(0);
                continue;
            }
            let offset = (image.len() as u64).next_multiple_of(var.align.into());
            if offset + var.bytes > LARGEST_IMAGE {
                return Err(vec![lines.error(var.offset, "variables take more than 256 MiB")]);
            }
            image.resize(offset as usize, 0);
            image.extend_from_slice(&var.init);
            image.resize((offset + var.bytes) as usize, 0);
            offsets.push(offset);
        }
        let mut kernels: Vec<Kernel> = Vec::new();
        let mut errors = Vec::new();
        for entry in &text.entries {
            match decode::kernel(&text, entry, &offsets, &lines) {
                Ok(kernel) => kernels.push(kernel),
                Err(mut found) => errors.append(&mut found),
            }
        }
        if errors.is_empty() {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            Ok(Module { id: NEXT.fetch_add(1, Ordering::Relaxed), kernels, image })
        } else {
            Err(errors)
        }
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
