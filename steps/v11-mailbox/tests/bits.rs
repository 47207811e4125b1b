//! The same bits in every run and on every device: `cargo test -p v11-mailbox`.

#[test]
fn gives_the_same_bits_everywhere() {
    common::testing::same_bits(&v11_mailbox::STEP);
}
