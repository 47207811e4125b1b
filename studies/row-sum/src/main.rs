//! Computes a sum for each row, in many versions, in one table: `cargo run -p row-sum`.

fn main() -> std::process::ExitCode {
    common::cli::study(&row_sum::PROGRAM)
}
