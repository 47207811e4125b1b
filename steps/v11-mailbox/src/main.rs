//! Runs this step: `cargo run -p v11-mailbox -- --help`.

fn main() -> std::process::ExitCode {
    common::cli::run(&v11_mailbox::STEP)
}
