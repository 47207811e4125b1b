//! Right on every awkward size, and deaf to no bad input: `cargo test -p v3-first-add`.

#[test]
fn reduces() {
    common::testing::check(&v3_first_add::STEP);
}

#[test]
fn no_fault_is_verified() {
    common::testing::faults(&v3_first_add::STEP);
}

#[test]
fn answers_bad_input() {
    let program = env!(concat!("CARGO_BIN_EXE_", env!("CARGO_PKG_NAME")));
    common::testing::program(&v3_first_add::STEP, program);
}
