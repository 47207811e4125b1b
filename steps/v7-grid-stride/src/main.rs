//! Runs this step: `cargo run -p v7-grid-stride -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v7_grid_stride::STEP)
}
