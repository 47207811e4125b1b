//! Right on every awkward size, and deaf to no bad input: `cargo test -p v4-unroll-warp`.

#[test]
fn reduces() {
    common::testing::check(&v4_unroll_warp::STEP);
}

#[test]
fn no_fault_is_verified() {
    common::testing::faults(&v4_unroll_warp::STEP);
}

#[test]
fn answers_bad_input() {
    let program = env!(concat!("CARGO_BIN_EXE_", env!("CARGO_PKG_NAME")));
    common::testing::program(&v4_unroll_warp::STEP, program);
}
