//! Four ways to a small sum, in one table: `cargo run -p small-sum`.

fn main() -> std::process::ExitCode {
    common::cli::study(&small_sum::STUDY)
}
