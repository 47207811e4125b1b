//! The same bits in every run and on every device: `cargo test -p v12-bulk-copy`.

#[test]
fn gives_the_same_bits_everywhere() {
    common::testing::same_bits(&v12_bulk_copy::STEP);
}
