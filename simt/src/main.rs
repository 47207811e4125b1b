//! The commands `simt run` and `simt check`, for any PTX in the supported subset, without a GPU.
#![forbid(unsafe_code)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
