//! Small sums in four ways, in one table: `cargo run -p small-sum`.

fn main() -> std::process::ExitCode {
    common::cli::study(&small_sum::STUDY)
}
