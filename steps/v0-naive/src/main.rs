//! Runs this step: `cargo run -p v0-naive -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v0_naive::STEP)
}
