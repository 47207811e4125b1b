//! Computes small sums in four versions, in one table: `cargo run -p small-sum`.

fn main() -> std::process::ExitCode {
    common::cli::study(&small_sum::STUDY)
}
