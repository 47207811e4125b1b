//! Right on every awkward size: `cargo test -p v0-naive`.

#[test]
fn reduces() {
    common::testing::check(&v0_naive::STEP);
}
