//! Benchmarks this step: `cargo bench -p v11-mailbox`.

fn main() {
    bench::main(&v11_mailbox::STEP);
}
