//! Right on every awkward size: `cargo test -p v4-unroll-warp`.

#[test]
fn reduces() {
    common::testing::check(&v4_unroll_warp::STEP);
}
