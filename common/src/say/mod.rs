//! What is asked, and what is answered: the command line, and every form of output.

pub mod cli;
pub mod ledger;
pub mod record;
pub mod report;
