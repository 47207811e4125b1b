//! From a `kernel.cu` to PTX: what is compiled, by what, and the stamp of what is committed.
//!
//! A [`Unit`] says what is compiled, whichever compiler does it; a compiler makes PTX of it, or
//! gives its messages back as an [`Error`]. [`nvrtc`] is one.
//!
//! It is a crate of its own, and a small one, because it is all that the first command of someone
//! who edits a kernel has to build.

mod error;
mod find;
pub mod nvrtc;
mod stamp;
mod unit;
mod woven;

pub use error::{Error, Result};
pub use stamp::{Stamp, hash};
pub use unit::{ELEMENTS, Unit};
pub use woven::{beside, includes, woven};
