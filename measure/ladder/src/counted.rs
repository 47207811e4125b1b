//! Shows the interpreter's counts for two kernels side by side, for machines without a GPU.

use std::io::Write;

use common::{
    Element, Result, Step,
    cli::{self, Stop},
    device::Device,
    ptx,
    run::{self, Outcome, Samples},
    sum::{Scalar, Workload},
};
use numbers::{group, size};
use simt::Counts;

use crate::{
    cell::{INPUT, SEED},
    options::How,
};

/// A row of the table: its title, and the function that selects its value from the counts.
type Row = (&'static str, fn(&Counts) -> u64);
const ROWS: [Row; 9] = [
    ("warp instructions", |c| c.warp_insts),
    ("divergent branches", |c| c.divergent_branches),
    ("shared loads and stores", |c| c.shared_ld + c.shared_st),
    ("bank conflicts", |c| c.shared_ld_conflicts + c.shared_st_conflicts),
    ("barriers", |c| c.barriers),
    ("shuffles", |c| c.shuffles),
    ("global requests", |c| c.global_ld_requests + c.global_st_requests),
    ("global sectors", |c| c.global_ld_sectors + c.global_st_sectors),
    ("atomics", |c| c.atomics),
];

/// Counts the operations of pairs of steps, and verifies each step.
pub(crate) fn pairs(
    device: &Device,
    pairs: &[(&'static Step, &'static Step)],
    sizes: &[u64],
    how: &How,
) -> Result<(), Stop> {
    let mut out = anstream::stdout();
    writeln!(out, "{}", device.facts().line)?;
    for &(first, second) in pairs {
        for &element in &how.element {
            for &n in sizes {
                cli::forewarn(device, n, element, 2);
                let both = match element {
                    Element::F32 => both::<f32>(device, [first, second], n, how),
                    Element::I32 => both::<i32>(device, [first, second], n, how),
                    Element::F64 => both::<f64>(device, [first, second], n, how),
                }?;
                write!(out, "\n{}", beside(&both))?;
                out.flush()?;
                if let Some(fault) = both.iter().find_map(Outcome::fault) {
                    return Err(fault.into());
                }
            }
        }
    }
    Ok(())
}

fn both<T: Scalar>(
    device: &Device,
    steps: [&'static Step; 2],
    n: u64,
    how: &How,
) -> Result<[Outcome; 2]> {
    let workload = Workload::<T>::new(device, INPUT, n, SEED)?;
    let run = |step: &'static Step| {
        let text = ptx::of(&step.kernel, T::ELEMENT, None)?;
        let samples = Samples { count: 0, warm: true };
        run::run(step, &text, device, &workload, step.block(Some(how.threads)), samples)
    };
    Ok([run(steps[0])?, run(steps[1])?])
}

/// Formats the counts of both steps in one table. Rows in which both counts are zero are left out.
fn beside(both: &[Outcome; 2]) -> String {
    let [one, other] = both;
    let counts = both.each_ref().map(|outcome| {
        outcome.observed.as_ref().map(|observed| observed.counters.total).unwrap_or_default()
    });
    let wide = both.iter().map(|outcome| outcome.step.chars().count()).max().unwrap_or(0).max(14);
    let row = |name: &str, one: &str, other: &str, ratio: &str| {
        format!("  {name:<24} {one:>wide$} {other:>wide$} {ratio:>8}").trim_end().to_owned() + "\n"
    };
    let mut text = format!("{} {}\n", size(one.n), one.element);
    text += &row("", one.step, other.step, "ratio");
    text += &row("threads per block", &one.threads.to_string(), &other.threads.to_string(), "");
    for (name, of) in ROWS {
        let [a, b] = counts.each_ref().map(of);
        if a > 0 || b > 0 {
            text += &row(name, &group(a), &group(b), &ratio(a, b));
        }
    }
    let verdict = |outcome: &Outcome| match outcome.fault() {
        None => "verified",
        Some(_) if outcome.wrong.is_none() => "FOUND",
        Some(_) => "WRONG",
    };
    text + &row("verdict", verdict(one), verdict(other), "")
}

/// Returns the ratio of the second count to the first.
fn ratio(one: u64, other: u64) -> String {
    match one {
        0 => "-".into(),
        _ => format!("{:.2}x", other as f64 / one as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_the_second_over_the_first() {
        assert_eq!([ratio(4, 2), ratio(3, 3), ratio(2, 5)], ["0.50x", "1.00x", "2.50x"]);
        assert_eq!([ratio(0, 0), ratio(0, 7)], ["-", "-"]);
    }

    fn run(names: [&str; 2]) -> [Outcome; 2] {
        use common::device::{Choice, Settings};
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let step = |name: &str| *crate::STEPS.iter().find(|step| step.name == name).unwrap();
        let threads = common::plan::Block::new(64).unwrap();
        let how = How { element: vec![Element::I32], threads, warm: false, seconds: 1.0 };
        both::<i32>(&device, names.map(step), 1000, &how).unwrap()
    }

    fn rows(both: &[Outcome; 2]) -> Vec<(String, Vec<String>)> {
        let text = beside(both);
        let cells = |line: &str| -> Vec<String> {
            let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
            cells.map(str::to_owned).collect()
        };
        let rows = text.lines().skip(2).map(cells);
        rows.map(|row| (row[0].clone(), row[1..].join(" ").split(' ').map(str::to_owned).collect()))
            .collect()
    }

    #[test]
    fn each_count_has_a_row_and_zero_rows_are_left_out() {
        let mut both = run(["v1-divergence", "v2-bank-conflicts"]);
        let counts = |outcome: &mut Outcome, counts| {
            outcome.observed.as_mut().unwrap().counters.total = counts;
        };
        let first = Counts {
            warp_insts: 1000,
            shared_ld: 20,
            shared_st: 3,
            shared_ld_conflicts: 40,
            shared_st_conflicts: 5,
            global_ld_requests: 60,
            global_st_requests: 7,
            global_ld_sectors: 800,
            global_st_sectors: 9,
            barriers: 7,
            atomics: 11,
            ..Counts::default()
        };
        counts(&mut both[0], first);
        counts(&mut both[1], Counts { warp_insts: 1500, shuffles: 2, ..Counts::default() });
        let found = rows(&both);
        let expected = [
            ("threads per block", "64 64"),
            ("warp instructions", "1,000 1,500 1.50x"),
            ("shared loads and stores", "23 0 0.00x"),
            ("bank conflicts", "45 0 0.00x"),
            ("barriers", "7 0 0.00x"),
            ("shuffles", "0 2 -"),
            ("global requests", "67 0 0.00x"),
            ("global sectors", "809 0 0.00x"),
            ("atomics", "11 0 0.00x"),
            ("verdict", "verified verified"),
        ];
        let found: Vec<(&str, String)> =
            found.iter().map(|(name, cells)| (name.as_str(), cells.join(" "))).collect();
        assert_eq!(found, expected.map(|(name, cells)| (name, cells.to_owned())));
    }

    #[test]
    fn a_fault_of_either_kind_is_in_the_last_row() {
        use common::sum::{Mismatch, Run};
        let [right, mut found] = run(["v1-divergence", "v2-bank-conflicts"]);
        let finding = simt::observe::Finding {
            fault: simt::observe::Fault::DataRace,
            entry: "reduce".into(),
            launch: 1,
            launches: 1,
            space: None,
            address: 0,
            place: String::new(),
            sites: Vec::new(),
            lines: Vec::new(),
            detail: String::new(),
            cure: String::new(),
            places: 1,
            times: 1,
        };
        found.observed.as_mut().unwrap().findings.push(finding);
        let mut wrong = right.clone();
        let step = crate::STEPS[1];
        let chip = common::plan::Chip::H200;
        let block = common::plan::Block::new(64).unwrap();
        let problem = common::plan::Problem { n: 1000, block, element: Element::I32, chip };
        let verdict = wrong.verdict;
        wrong.wrong = Some(Box::new(Mismatch::of(step, &problem, Run::First, verdict, None)));
        let last = |both: &[Outcome; 2]| rows(both).pop().unwrap().1;
        assert_eq!(last(&[right, found.clone()]), ["verified", "FOUND"]);
        assert_eq!(last(&[wrong, found]), ["WRONG", "FOUND"]);
    }
}
