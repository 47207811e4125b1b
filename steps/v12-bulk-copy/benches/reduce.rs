//! Benchmarks this step: `cargo bench -p v12-bulk-copy`.

fn main() {
    bench::main(&v12_bulk_copy::STEP);
}
