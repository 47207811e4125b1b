//! Right on every awkward size, and deaf to no bad input: `cargo test -p v0-naive`.

#[test]
fn reduces() {
    common::testing::check(&v0_naive::STEP);
}

#[test]
fn no_fault_is_verified() {
    common::testing::faults(&v0_naive::STEP);
}

#[test]
fn answers_bad_input() {
    let program = env!(concat!("CARGO_BIN_EXE_", env!("CARGO_PKG_NAME")));
    common::testing::program(&v0_naive::STEP, program);
}
