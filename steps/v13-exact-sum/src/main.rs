//! Runs this step: `cargo run -p v13-exact-sum -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v13_exact_sum::STEP)
}
