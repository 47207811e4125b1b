//! Right on every awkward size: `cargo test -p v9-bulk-copy`.

#[test]
fn reduces() {
    common::testing::check(&v9_bulk_copy::STEP);
}
