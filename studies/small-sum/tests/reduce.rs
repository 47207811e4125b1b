//! Every way is right on every awkward size: `cargo test -p small-sum`.

use common::{
    Element,
    plan::{Block, Chip, Problem},
};

#[test]
fn reduces() {
    for way in small_sum::STUDY.ways {
        common::testing::check(way);
    }
}

#[test]
fn no_fault_is_verified() {
    for way in small_sum::STUDY.ways {
        common::testing::faults(way);
    }
}

#[test]
fn gives_the_same_bits_everywhere() {
    for way in small_sum::STUDY.ways {
        common::testing::same_bits(way);
    }
}

/// More blocks than a grid has are a refusal, and neither a panic nor a grid that wrapped round.
#[test]
fn sums_that_no_grid_holds_are_refused() {
    let block = Block::new(64).unwrap();
    for element in Element::ALL {
        let problem = Problem { n: 1 << 48, block, element, chip: Chip::H200 };
        for way in small_sum::STUDY.ways {
            let refused = (way.plan)(&problem).check(&Chip::H200).is_err();
            assert_eq!(refused, matches!(way.name, "counter" | "mailbox"), "{}", way.name);
        }
    }
}
