//! Right on every awkward size, and deaf to no bad input: `cargo test -p v12-bulk-copy`.

#[test]
fn reduces() {
    common::testing::check(&v12_bulk_copy::STEP);
}

#[test]
fn no_fault_is_verified() {
    common::testing::faults(&v12_bulk_copy::STEP);
}

#[test]
fn answers_bad_input() {
    let program = env!(concat!("CARGO_BIN_EXE_", env!("CARGO_PKG_NAME")));
    common::testing::program(&v12_bulk_copy::STEP, program);
}
