//! Benchmarks this step: `cargo bench -p v10-fixed-tree`.

fn main() {
    bench::main(&v10_fixed_tree::STEP);
}
