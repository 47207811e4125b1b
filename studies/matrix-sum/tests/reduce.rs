//! Every way is right on every awkward size: `cargo test -p matrix-sum`.

use common::{Step, testing};

/// Tests of a way of each name, side by side: a study of fourteen would take minutes in a row.
macro_rules! ways {
    ($($name:ident: $way:literal),* $(,)?) => {$(
        mod $name {
            #[test]
            fn reduces() {
                common::testing::check(super::way($way));
            }

            #[test]
            fn no_fault_is_verified() {
                common::testing::faults(super::way($way));
            }
        }
    )*

    const NAMES: &[&str] = &[$($way),*];
    };
}

ways! {
    naive_row: "naive-row", naive_column: "naive-column",
    compressed_row: "compressed-row", compressed_column: "compressed-column",
    banks_row: "banks-row", banks_column: "banks-column",
    first_row: "first-row", first_column: "first-column",
    unrolled_row: "unrolled-row", unrolled_column: "unrolled-column",
    wide_row: "wide-row", wide_column: "wide-column",
    one_pass_row: "one-pass-row", one_pass_column: "one-pass-column",
}

fn way(name: &str) -> &'static Step {
    matrix_sum::STUDY.ways.iter().find(|way| way.name == name).expect("a way")
}

#[test]
fn no_way_is_left_out() {
    assert_eq!(matrix_sum::STUDY.ways.iter().map(|way| way.name).collect::<Vec<_>>(), NAMES);
}

/// All but the one whose parts depend on the GPU.
#[test]
fn one_pass_gives_the_same_bits_everywhere() {
    for name in ["one-pass-row", "one-pass-column"] {
        testing::same_bits(way(name));
    }
}
