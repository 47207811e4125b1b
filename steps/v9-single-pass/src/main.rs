//! Runs this step: `cargo run -p v9-single-pass -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v9_single_pass::STEP)
}
