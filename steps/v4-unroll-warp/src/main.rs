//! Runs this step: `cargo run -p v4-unroll-warp -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v4_unroll_warp::STEP)
}
