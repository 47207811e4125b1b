//! Predicts a kernel's time on a GPU from its execution in the interpreter.
//!
//! DESIGN.md states the model and its limits.
#![forbid(unsafe_code)]

mod code;
mod error;
mod film;
mod flight;
mod gpu;
mod launch;
mod named;
mod occupancy;
mod reel;
mod sheet;
mod sm;
mod spent;
mod trace;

pub use code::{Code, Inst, Kind};
pub use error::Error;
pub use film::{Film, Part, film};
pub use flight::in_flight;
pub use gpu::{Gpu, Limits, SMALL};
pub use launch::{Launched, launch, wanted};
pub use occupancy::resident;
pub use reel::{Flight, Lane, Shown, State};
pub use sheet::{SHEETS, Sheet};
pub use sm::{Ran, Work, run};
pub use spent::Spent;
pub use trace::{Blocks, Op, What, record, record_one};
