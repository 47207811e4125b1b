//! Benchmarks this step: `cargo bench -p v4-unroll-warp`.

fn main() {
    bench::main(&v4_unroll_warp::STEP);
}
