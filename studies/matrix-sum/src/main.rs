//! Sums many 2 × 2 matrices: `cargo run -p matrix-sum`.

fn main() -> std::process::ExitCode {
    matrix_sum::command::run()
}
