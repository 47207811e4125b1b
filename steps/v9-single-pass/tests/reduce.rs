//! Right on every awkward size, and deaf to no bad input: `cargo test -p v9-single-pass`.

#[test]
fn reduces() {
    common::testing::check(&v9_single_pass::STEP);
}

#[test]
fn no_fault_is_verified() {
    common::testing::faults(&v9_single_pass::STEP);
}

#[test]
fn answers_bad_input() {
    let program = env!(concat!("CARGO_BIN_EXE_", env!("CARGO_PKG_NAME")));
    common::testing::program(&v9_single_pass::STEP, program);
}
