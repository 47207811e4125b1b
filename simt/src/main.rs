//! `simt run` and `simt check`: any PTX within the subset, with no GPU.
#![forbid(unsafe_code)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
