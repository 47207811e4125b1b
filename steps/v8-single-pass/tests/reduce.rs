//! Right on every awkward size: `cargo test -p v8-single-pass`.

#[test]
fn reduces() {
    common::testing::check(&v8_single_pass::STEP);
}
