//! Every way is right on every awkward size: `cargo test -p small-sum`.

#[test]
fn reduces() {
    for way in small_sum::WAYS {
        common::testing::check(way);
    }
}

#[test]
fn gives_the_same_bits_everywhere() {
    for way in small_sum::WAYS {
        common::testing::same_bits(way);
    }
}
