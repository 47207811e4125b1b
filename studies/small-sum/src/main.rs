//! Four ways to a small sum, in one table: `cargo run -p small-sum -- --n 2^10,2^14,2^17`.

fn main() -> std::process::ExitCode {
    let about = "Sums too small to fill the chip, in four ways, in one table";
    common::cli::study("small-sum", about, &small_sum::WAYS)
}
