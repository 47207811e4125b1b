//! The checks and the trace, which are observers that come with the interpreter.

mod bits;
mod earlier;
mod finding;
mod found;
mod held;
mod memory;
mod older;
mod parts;
mod prints;
mod races;
mod scene;
mod state;
mod sync;
mod trace;
mod uses;
mod widened;

pub use finding::{Fault, Finding, Site};
pub use memory::Memory;
pub use prints::{Printed, Prints};
pub use races::Races;
pub use state::State;
pub use sync::Sync;
pub use trace::{BlockTrace, Trace, TraceEvent, TraceRound};
pub use widened::{Operand, Widened};
