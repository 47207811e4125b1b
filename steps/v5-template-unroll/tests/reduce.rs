//! Right on every awkward size: `cargo test -p v5-template-unroll`.

#[test]
fn reduces() {
    common::testing::check(&v5_template_unroll::STEP);
}
