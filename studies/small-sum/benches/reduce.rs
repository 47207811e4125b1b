//! Times each version: `cargo bench -p small-sum`.

fn main() {
    bench::ways(small_sum::STUDY.ways);
}
