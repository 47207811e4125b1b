//! Tests every version with awkward sizes: `cargo test -p small-sum`.

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

/// A plan with more blocks than a grid can have is rejected, without a panic and without wrapping.
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

/// Clusters have sixteen blocks if the GPU supports sixteen, and eight on other GPUs with clusters;
/// GPUs without clusters reject them. The other versions need no clusters.
#[test]
fn clusters_are_as_large_as_the_gpu_allows() {
    let problem = |cluster| {
        let chip = Chip { cluster, ..Chip::H200 };
        Problem { n: 1 << 20, block: Block::USUAL, element: Element::F32, chip }
    };
    for (has, takes) in [(16, 16), (8, 8), (1, 8)] {
        let problem = problem(has);
        for way in small_sum::STUDY.ways {
            let plan = (way.plan)(&problem);
            let clustered = way.name == "one-cluster";
            assert_eq!(plan.launches[0].cluster, if clustered { takes } else { 1 }, "{}", way.name);
            let refused = plan.check(&problem.chip).err().map(|error| error.to_string());
            match clustered && has < takes {
                true => assert_eq!(
                    refused.unwrap(),
                    "`reduce_8` needs clusters of 8 blocks, but this GPU has no clusters: use another kernel or another GPU"
                ),
                false => assert_eq!(refused, None, "{}", way.name),
            }
        }
    }
}

/// On a GPU without clusters, three versions run, and the error of the fourth names the
/// requirement.
#[test]
fn three_ways_run_on_gpus_without_clusters() {
    let said = |gpu: &str, more: &[&str]| {
        let program = env!("CARGO_BIN_EXE_small-sum");
        let args = ["--device", "simt", "--gpu", gpu, "--n", "1025"];
        let output = std::process::Command::new(program).args(args).args(more).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        String::from_utf8(output.stdout).unwrap()
    };
    for gpu in ["sm_70", "sm_86"] {
        let table = said(gpu, &[]);
        assert!(table.contains("all verified"), "{table}");
        let refused: Vec<&str> = table.lines().filter(|line| line.contains("needs")).collect();
        assert!(
            matches!(refused[..], [one] if one.contains("one-cluster") && one.contains("sm_90")),
            "{table}"
        );
        assert!(said(gpu, &["--explain"]).contains("this GPU has no clusters"));
    }
    let table = said("sm_120", &[]);
    assert!(table.contains("all verified") && !table.contains("needs"), "{table}");
}

/// The table lists the kernels that do not run with the requested block size, and the file of each
/// kernel.
#[test]
fn other_blocks_are_reported_and_kernels_have_their_file() {
    let program = env!("CARGO_BIN_EXE_small-sum");
    let args = ["--device", "simt", "--n", "33", "--threads", "64"];
    let output = std::process::Command::new(program).args(args).output().unwrap();
    let table = common::testing::unwrapped(&String::from_utf8_lossy(&output.stdout));
    assert!(table.contains("one-block in 512, one-cluster in 512,"), "{table}");
    let files = "in studies/small-sum/src: block.cu: one-block; cluster.cu: one-cluster;";
    assert!(table.contains(files), "{table}");
}
