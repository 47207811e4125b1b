//! Times each version: `cargo bench -p row-sum`.

fn main() {
    bench::ways(row_sum::STUDY.ways);
}
