//! What is asked, and what is answered: the command line, and every form of output.

pub mod beside;
pub mod cli;
pub mod ledger;
mod next;
mod options;
pub mod profile;
pub mod record;
pub mod report;
mod sizes;
mod stop;
pub mod trace;

pub use options::{Checks, Format, Options};
