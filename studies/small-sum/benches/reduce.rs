//! The times of each way: `cargo bench -p small-sum`.

fn main() {
    bench::ways(small_sum::STUDY.ways);
}
