//! Four ways to a small sum, in one table: `cargo run -p small-sum`.

fn main() -> std::process::ExitCode {
    let about = "Sums too small to fill the chip, in four ways, in one table";
    common::cli::study("small-sum", about, "2^10,2^12,2^14,2^16,2^18", &small_sum::WAYS)
}
