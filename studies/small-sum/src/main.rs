//! Four ways to a small sum, in one table: `cargo run -p small-sum -- --n 2^10,2^14,2^17`.

fn main() -> std::process::ExitCode {
    common::cli::ladder(&small_sum::WAYS)
}
