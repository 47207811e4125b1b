//! Runs this step: `cargo run -p v1-divergence -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v1_divergence::STEP)
}
