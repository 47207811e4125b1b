//! One run of this step: `cargo run -p v9-bulk-copy -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v9_bulk_copy::STEP)
}
