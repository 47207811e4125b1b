//! Right on every awkward size, and deaf to no bad input: `cargo test -p v2-bank-conflicts`.

#[test]
fn reduces() {
    common::testing::check(&v2_bank_conflicts::STEP);
}

#[test]
fn no_fault_is_verified() {
    common::testing::faults(&v2_bank_conflicts::STEP);
}

#[test]
fn answers_bad_input() {
    let program = env!(concat!("CARGO_BIN_EXE_", env!("CARGO_PKG_NAME")));
    common::testing::program(&v2_bank_conflicts::STEP, program);
}
