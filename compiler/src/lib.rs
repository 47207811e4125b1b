//! Compiles a `kernel.cu` to PTX, and stamps committed PTX.
//!
//! A [`Unit`] is the input to a compiler. A [`Compiler`] compiles the unit to PTX, or returns its
//! own messages as an [`Error`]. There are two compilers: NVIDIA's [`nvrtc`] and LLVM's [`clang`].
//!
//! This crate is small and separate, so that the first command after an edit to a kernel has little
//! to build.

pub mod any;
pub mod clang;
mod comments;
mod error;
pub mod find;
mod newer;
pub mod nvrtc;
mod read;
mod stamp;
mod unit;
mod woven;

pub use any::{Compiler, Kind, ONLY};
pub use clang::Clang;
pub use error::{Error, Result};
pub use newer::newer;
pub use read::read;
pub use stamp::{Stamp, hash, source_hash};
pub use unit::{ELEMENTS, Unit};
pub use woven::{beside, includes, woven};
