//! Right on every awkward size, and deaf to no bad input: `cargo test -p v8-wide-loads`.

#[test]
fn reduces() {
    common::testing::check(&v8_wide_loads::STEP);
}

#[test]
fn no_fault_is_verified() {
    common::testing::faults(&v8_wide_loads::STEP);
}

#[test]
fn answers_bad_input() {
    let program = env!(concat!("CARGO_BIN_EXE_", env!("CARGO_PKG_NAME")));
    common::testing::program(&v8_wide_loads::STEP, program);
}
