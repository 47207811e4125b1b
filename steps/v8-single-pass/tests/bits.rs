//! The same bits in every run and on every device: `cargo test -p v8-single-pass`.

#[test]
fn gives_the_same_bits_everywhere() {
    common::testing::same_bits(&v8_single_pass::STEP);
}
