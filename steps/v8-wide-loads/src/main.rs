//! Runs this step: `cargo run -p v8-wide-loads -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v8_wide_loads::STEP)
}
