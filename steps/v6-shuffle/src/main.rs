//! Runs this step: `cargo run -p v6-shuffle -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v6_shuffle::STEP)
}
