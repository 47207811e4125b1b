//! Runs this step: `cargo run -p v3-first-add -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v3_first_add::STEP)
}
