//! Right on every awkward size: `cargo test -p v7-grid-stride`.

#[test]
fn reduces() {
    common::testing::check(&v7_grid_stride::STEP);
}
