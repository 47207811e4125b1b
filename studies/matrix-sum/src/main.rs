//! Many 2 × 2 matrices to one, in both orders: `cargo run -p matrix-sum`.

fn main() -> std::process::ExitCode {
    common::cli::study(&matrix_sum::STUDY)
}
