//! Correctness: the elements, their exact sum, and the verdict on a kernel's sum.

mod elements;
mod input;
mod partial;
mod verdict;
mod verify;
mod workload;

pub use elements::{Elements, elements};
pub use input::Input;
pub use numbers::{Reference, Scalar, Value};
pub use partial::WrongPartial;
pub use verdict::{NEAR, Verdict};
pub use verify::{Mismatch, Run, first_wrong};
pub use workload::{Slip, Workload};
