//! Runs this step: `cargo run -p v5-template-unroll -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v5_template_unroll::STEP)
}
