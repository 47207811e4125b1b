//! The same bits in every run and on every device: `cargo test -p v10-fixed-tree`.

#[test]
fn gives_the_same_bits_everywhere() {
    common::testing::same_bits(&v10_fixed_tree::STEP);
}
