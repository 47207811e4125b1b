//! Runs this step: `cargo run -p v12-bulk-copy -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v12_bulk_copy::STEP)
}
