//! A sum for each row, in many ways, in one table: `cargo run -p row-sum`.

fn main() -> std::process::ExitCode {
    common::cli::study(&row_sum::STUDY)
}
