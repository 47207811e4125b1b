//! Runs every step at the same sizes and prints one table: `cargo run --release -p ladder`.

fn main() -> std::process::ExitCode {
    ladder::commands::run()
}
