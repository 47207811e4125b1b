//! The program `check`: `cargo run -p check -- 3` is the same as `cargo x check 3`.

use std::process::ExitCode;

use check::{Ended, Options};
use clap::Parser;
use xtask::said;

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => return said::refused(&error),
    };
    match check::run(&options) {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::Failed) => ExitCode::FAILURE,
        Err(error) if said::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            said::note(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}
