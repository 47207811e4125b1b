//! Right on every awkward size: `cargo test -p v3-first-add`.

#[test]
fn reduces() {
    common::testing::check(&v3_first_add::STEP);
}
