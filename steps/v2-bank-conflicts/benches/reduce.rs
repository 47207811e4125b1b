//! Benchmarks this step: `cargo bench -p v2-bank-conflicts`.

fn main() {
    bench::main(&v2_bank_conflicts::STEP);
}
