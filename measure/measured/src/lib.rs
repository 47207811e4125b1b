//! Measurements: the files in `results/`, their statistics, and the tables made from them.
//!
//! A folder is one [`Run`]. A run has every [`Sample`] in long form, the [`Env`]ironment in which
//! the samples were taken, and the outcome of the rounds for each [`Cell`] (a type, a size and a
//! cache state). Every tool that prints a number reads it through this crate, which does not depend
//! on GPUs, steps or the harness.
#![forbid(unsafe_code)]

mod cell;
pub mod check;
pub mod counters;
mod env;
mod error;
pub mod exact;
pub mod file;
pub mod history;
pub mod library;
pub mod matrices;
pub mod page;
pub mod pair;
pub mod python;
pub mod repeat;
pub mod rows;
mod run;
mod sample;
pub mod stats;
mod sum;
pub mod table;

pub use cell::Cell;
pub use env::{Absent, Env, Gpu, Method, More, PEER, Role, Taken, Variant};
pub use error::{Error, Result};
pub use run::{Place, Run, competitor_order, folders};
pub use sample::{Cache, Clock, Sample};
pub use sum::Sum;
