//! The checks and the trace: observers that come with the interpreter.

mod finding;
mod memory;
mod races;
mod sync;
mod trace;

pub use finding::{Fault, Finding, Site};
pub use memory::Memory;
pub use races::Races;
pub use sync::Sync;
pub use trace::{BlockTrace, Trace, TraceEvent, TraceRound};
