//! Runs this step: `cargo run -p v2-bank-conflicts -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v2_bank_conflicts::STEP)
}
