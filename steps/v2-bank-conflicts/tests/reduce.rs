//! Right on every awkward size: `cargo test -p v2-bank-conflicts`.

#[test]
fn reduces() {
    common::testing::check(&v2_bank_conflicts::STEP);
}
