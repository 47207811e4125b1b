//! A zoo of broken sums: twenty kernels, each with one classic bug, and what finds it.
//!
//! Most of them end with the right sum on most GPUs, most of the time: that is why their bugs are
//! classics. [`BUGS`] are the kernels, with what a host has to know to launch them; [`watch()`] runs
//! one in the interpreter under [`SCHEDULES`], and says what was found. `ladder zoo` runs them on a
//! GPU.
#![forbid(unsafe_code)]

mod bug;
mod bugs;
mod table;
mod watch;

pub use bug::{Before, Bug, Sums};
pub use bugs::BUGS;
pub use table::{page, table};
pub use watch::{Outcome, SCHEDULES, watch};
