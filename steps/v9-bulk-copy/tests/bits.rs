//! The same bits in every run and on every device: `cargo test -p v9-bulk-copy`.

#[test]
fn gives_the_same_bits_everywhere() {
    common::testing::same_bits(&v9_bulk_copy::STEP);
}
