//! The times of this step: `cargo bench -p v8-single-pass`.

fn main() {
    bench::main(&v8_single_pass::STEP);
}
