//! What was measured: the files of `results/`, their statistics, and the tables made from them.
//!
//! One folder is one [`Run`]: every [`Sample`] in long form, the [`Env`]ironment they were taken
//! in, and how each [`Cell`] of the grid of types, sizes and caches ended. Everything that prints
//! a number reads it here; nothing here knows a GPU, a step or the harness.
#![forbid(unsafe_code)]

mod cell;
pub mod check;
pub mod counters;
mod env;
mod error;
pub mod history;
pub mod library;
pub mod matrices;
pub mod page;
pub mod pair;
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
pub use run::{Place, Run, contender_order, folders};
pub use sample::{Cache, Clock, Sample};
pub use sum::Sum;
