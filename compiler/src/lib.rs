//! From a `kernel.cu` to PTX: what is compiled, by what, and the stamp of what is committed.
//!
//! A [`Unit`] says what is compiled, whichever compiler does it; a compiler makes PTX of it, or
//! gives its messages back as an [`Error`]. There are two, and a [`Compiler`] is either: NVIDIA's
//! [`nvrtc`], and LLVM's [`clang`].
//!
//! It is a crate of its own, and a small one, because it is all that the first command of someone
//! who edits a kernel has to build.

pub mod any;
pub mod clang;
mod error;
pub mod find;
pub mod nvrtc;
mod stamp;
mod unit;
mod woven;

pub use any::{Compiler, Kind};
pub use clang::Clang;
pub use error::{Error, Result};
pub use stamp::{Stamp, hash};
pub use unit::{ELEMENTS, Unit};
pub use woven::{beside, includes, woven};
