//! Every way is right on every awkward size, with rows of three lengths: `cargo test -p row-sum`.

#[test]
fn reduces() {
    for way in row_sum::STUDY.ways {
        common::testing::check(way);
    }
}

#[test]
fn no_fault_is_verified() {
    for way in row_sum::STUDY.ways {
        common::testing::faults(way);
    }
}

#[test]
fn gives_the_same_bits_everywhere() {
    for way in row_sum::STUDY.ways {
        common::testing::same_bits(way);
    }
}
