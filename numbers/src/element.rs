//! The element types for which a kernel is built.

use std::{fmt, str::FromStr};

/// The type of an element, which `kernel.cu` calls `Element`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// IEEE single precision, `float` in CUDA.
    F32,
    /// 32-bit integers that wrap, `int` in CUDA.
    I32,
    /// IEEE double precision, `double` in CUDA.
    F64,
}

impl Element {
    /// All element types, in the order used in every table.
    pub const ALL: [Element; 3] = [Element::F32, Element::I32, Element::F64];

    /// Returns the name used on the command line, in file names and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Element::F32 => "f32",
            Element::I32 => "i32",
            Element::F64 => "f64",
        }
    }

    /// Returns the definition of `Element` with which the kernel is compiled.
    pub fn cuda_name(self) -> &'static str {
        match self {
            Element::F32 => "float",
            Element::I32 => "int",
            Element::F64 => "double",
        }
    }

    /// Returns the size of one element, in bytes.
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
