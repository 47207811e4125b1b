//! The same bits in every run and on every device: `cargo test -p v12-bulk-copy`.

#[test]
fn gives_the_same_bits_everywhere() {
    common::testing::same_bits(&v12_bulk_copy::STEP);
}

/// A part of more stages than the ring has: each place is filled again.
#[test]
fn fills_the_ring_again() {
    common::testing::same_bits_at(&v12_bulk_copy::STEP, 7_400_000);
}
