//! Every step at the same sizes, in one table: `cargo run --release -p ladder`.

fn main() -> std::process::ExitCode {
    ladder::commands::run()
}
