//! The command line, and every form of output.

mod asked;
pub mod beside;
pub mod cli;
pub mod ledger;
mod next;
mod options;
pub mod predicted;
mod profile;
mod progress;
pub mod record;
pub mod report;
mod sizes;
mod stop;
pub mod trace;

pub use options::{Checks, Format, Options};
pub use stop::columns;
