//! The times of this step: `cargo bench -p v0-naive`.

fn main() {
    common::bench::main(&v0_naive::STEP);
}
