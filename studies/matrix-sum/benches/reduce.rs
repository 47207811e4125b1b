//! The times of each way: `cargo bench -p matrix-sum`.

fn main() {
    bench::ways(matrix_sum::STUDY.ways);
}
