//! What is right: the elements, their exact sum, and whether a kernel's sum is that.

mod elements;
mod input;
mod reference;
mod scalar;
#[cfg(target_family = "wasm")]
mod serial;
mod verify;
mod workload;

pub use elements::Elements;
pub use input::Input;
pub use reference::Reference;
pub use scalar::{Scalar, Value};
pub use verify::{Mismatch, Run, Verdict, WrongPartial, first_wrong};
pub use workload::{Slip, Workload};
