//! The element types that a kernel is built for.

use std::{fmt, str::FromStr};

/// The type of one element; `kernel.cu` calls it `Element`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// IEEE single precision, `float`.
    F32,
    /// 32-bit integers that wrap, `int`.
    I32,
    /// IEEE double precision, `double`.
    F64,
}

impl Element {
    /// All element types, in the order of every table.
    pub const ALL: [Element; 3] = [Element::F32, Element::I32, Element::F64];

    /// The name on the command line, in file names and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Element::F32 => "f32",
            Element::I32 => "i32",
            Element::F64 => "f64",
        }
    }

    /// The definition of `Element` when the kernel is compiled.
    pub fn cuda_name(self) -> &'static str {
        match self {
            Element::F32 => "float",
            Element::I32 => "int",
            Element::F64 => "double",
        }
    }

    /// Bytes of one element.
    pub fn size(self) -> u64 {
        match self {
            Element::F32 | Element::I32 => 4,
            Element::F64 => 8,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Element {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Element::ALL.into_iter().find(|e| e.name() == text).ok_or_else(|| {
            format!("`{text}` is not an element type of these kernels: use f32, i32 or f64")
        })
    }
}
