//! Right on every awkward size: `cargo test -p v1-divergence`.

#[test]
fn reduces() {
    common::testing::check(&v1_divergence::STEP);
}
