//! Right on every awkward size: `cargo test -p v6-shuffle`.

#[test]
fn reduces() {
    common::testing::check(&v6_shuffle::STEP);
}
