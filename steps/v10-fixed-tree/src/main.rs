//! Runs this step: `cargo run -p v10-fixed-tree -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v10_fixed_tree::STEP)
}
