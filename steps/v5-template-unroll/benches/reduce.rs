//! Benchmarks this step: `cargo bench -p v5-template-unroll`.

fn main() {
    bench::main(&v5_template_unroll::STEP);
}
