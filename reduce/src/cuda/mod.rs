//! Calls to the CUDA driver. All `unsafe` code in this crate is in this module, except for
//! functions that take raw addresses from the caller.

mod launch;
mod mark;
mod memory;
mod module;
mod probe;
mod stream;

pub(crate) use launch::{Call, Param, RowsCall, launch, launch_form, launch_pair, launch_rows};
pub use mark::Mark;
pub(crate) use memory::{Address, Answer, State, with_captured_state};
pub use memory::{Memory, device_of};
pub(crate) use module::{Function, compile, major};
pub(crate) use probe::{is_forked, probe, ready};
pub(crate) use stream::{Queue, outside_of_captures};
pub use stream::{Stream, untracked};
