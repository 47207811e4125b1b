//! Runs PTX on the CPU, warp by warp, and counts.
#![forbid(unsafe_code)]

mod alu;
mod cfg;
mod counters;
mod decode;
mod error;
mod exec;
mod global;
mod gpu;
mod inst;
mod launch;
mod module;
pub mod observe;
pub mod observer;
mod parse;

pub use counters::{Counters, Counts, LaunchCounts};
pub use error::{Error, ParseError, Trap, TrapKind};
pub use gpu::Gpu;
pub use launch::{Arg, Config, Launch, Schedule};
pub use module::{Kernel, Module};
pub use observer::Observer;
