//! One run of this step: `cargo run -p v8-single-pass -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v8_single_pass::STEP)
}
