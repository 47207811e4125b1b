//! Benchmarks this step: `cargo bench -p v7-grid-stride`.

fn main() {
    bench::main(&v7_grid_stride::STEP);
}
