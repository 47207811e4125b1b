//! Right on every awkward size, and deaf to no bad input: `cargo test -p v11-mailbox`.

#[test]
fn reduces() {
    common::testing::check(&v11_mailbox::STEP);
}

#[test]
fn no_fault_is_verified() {
    common::testing::faults(&v11_mailbox::STEP);
}

#[test]
fn answers_bad_input() {
    let program = env!(concat!("CARGO_BIN_EXE_", env!("CARGO_PKG_NAME")));
    common::testing::program(&v11_mailbox::STEP, program);
}
