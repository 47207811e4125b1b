//! Times each version: `cargo bench -p matrix-sum`.

fn main() {
    bench::ways(matrix_sum::STUDY.ways);
}
