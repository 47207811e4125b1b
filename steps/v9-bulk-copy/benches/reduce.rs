//! The times of this step: `cargo bench -p v9-bulk-copy`.

fn main() {
    bench::main(&v9_bulk_copy::STEP);
}
