//! Tests that the predictions equal the committed ones, and that a model without one of its parts
//! fails.

use std::path::Path;

use common::{Element, device::Ptx};
use ladder::validate::predict;
use predict::Gpu;

/// The kernel, the number of elements, and the measured and the predicted time in microseconds.
type Row = (String, u64, f64, f64);

fn committed() -> Vec<Row> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("results/predictions/h200.csv")).unwrap();
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let steps = rows.filter(|row| row[0] == "step");
    let number = |text: &str| text.parse::<f64>().unwrap();
    steps
        .map(|row| (row[1].into(), row[3].parse().unwrap(), number(row[4]), number(row[5])))
        .collect()
}

fn predicted(gpu: &Gpu, kernel: &str, n: u64) -> f64 {
    let step = steps::step(kernel).unwrap();
    let text = step.kernel.ptx(Element::F32).to_owned();
    let ptx = Ptx { text, source: String::new(), origin: String::new(), file: kernel.into() };
    predict(gpu, step, &ptx, n, 256).unwrap()[0]
}

/// The table's predictions for a step come from a model that is fitted to the other steps only, so
/// they differ slightly.
#[test]
fn predictions_are_those_of_the_committed_table() {
    let gpu = Gpu::named("h200").unwrap();
    let rows = committed();
    let cheap = |row: &&Row| row.1 <= 1 << 22 && row.1 % 3 == 1;
    let all: Vec<&Row> = rows.iter().filter(cheap).collect();
    assert!(all.len() > 50, "{}", all.len());
    for (kernel, n, _, was) in all {
        let us = predicted(&gpu, kernel, *n);
        assert!(
            (us / was - 1.0).abs() < 0.05,
            "{kernel} on {n}: {us} µs, but the table has {was} µs: run `ladder validate`"
        );
    }
}

/// Each part of the model is needed: without that part, the error for at least one kernel is
/// outside the committed range.
#[test]
fn a_model_without_one_of_its_parts_fails() {
    let gpu = || Gpu::named("h200").unwrap();
    let rows = committed();
    let bound = gpu().errors[1];
    let error = |gpu: &Gpu, kernel: &str, n: u64| {
        let row = rows.iter().find(|row| row.0 == kernel && row.1 == n).unwrap();
        (predicted(gpu, kernel, n) / row.2 - 1.0).abs()
    };
    let no_bandwidth = Gpu { dram: 100.0 * gpu().dram, sm_bytes: [1e6; 2], ..gpu() };
    let mut half_latency = gpu();
    half_latency.load.iter_mut().for_each(|point| point[1] /= 2.0);
    let mut no_occupancy = gpu();
    no_occupancy.limits.threads = 1 << 16;
    let no_blocks = Gpu { block: 0.0, replace: 0.0, ..gpu() };
    let (n, large) = (1 << 24, 1 << 28);
    for (part, broken, kernel, n) in [
        ("bandwidth", no_bandwidth, "v8-wide-loads", large),
        ("latency", half_latency, "v7-grid-stride", n),
        ("occupancy", no_occupancy, "v6-shuffle", large),
        ("starts of blocks", no_blocks, "v6-shuffle", large),
    ] {
        assert!(error(&gpu(), kernel, n) < bound, "{kernel}");
        let without = error(&broken, kernel, n);
        assert!(without > bound, "without {part}, the error of {kernel} is {without}");
    }
}
