//! A zoo of broken sums: nineteen kernels, each with one classic bug, and the check that finds it.
//!
//! Most of the kernels give the correct sum on most GPUs, most of the time, so tests rarely find
//! the bugs. [`BUGS`] lists the kernels with the parameters of their launches; [`watch()`] runs one
//! of them in the interpreter under [`SCHEDULES`], and returns the findings. `ladder zoo` runs the
//! kernels on a GPU.
#![forbid(unsafe_code)]

mod bug;
mod bugs;
mod table;
mod watch;

pub use bug::{Before, Bug, Sums};
pub use bugs::{BUGS, EARLY_RETURN};
pub use table::{page, table, wrapped};
pub use watch::{Outcome, SCHEDULES, watch};
