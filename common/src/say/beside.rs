//! Implements `--counters`, which prints the interpreter's counts beside the GPU's.

use std::fmt::Write as _;

use numbers::group;
use simt::Counts;

use super::report::{columns, line, lines, right};
use crate::{
    device::cupti::counters::Values,
    run::{Counted, Outcome, SAME},
};

/// The counts that both devices report. Each has a name, and an index in `METRICS` and [`SAME`].
const BOTH: [(&str, usize); 8] = [
    ("shared loads", 0),
    ("shared stores", 1),
    ("wavefronts for loads", 2),
    ("wavefronts for stores", 3),
    ("global load requests", 4),
    ("global store requests", 5),
    ("global load sectors", 6),
    ("global store sectors", 7),
];

/// A function that returns one of the interpreter's counts.
type Ours = fn(&Counts) -> u64;

/// Counts that the interpreter and the hardware define differently. Each has a name, a function
/// that returns the interpreter's count, and an index in `METRICS`.
const OTHER: [(&str, Ours, usize); 2] =
    [("divergent branches", |c| c.divergent_branches, 8), ("instructions", |c| c.warp_insts, 9)];

/// Counts that CUPTI does not report.
const OURS: [(&str, Ours); 2] = [("barriers", |c| c.barriers), ("shuffles", |c| c.shuffles)];

/// The contents of a cell that has no value.
const NONE: &str = "–";

/// Formats the counts for each launch, side by side; empty if the GPU did not count.
pub fn side_by_side(outcome: &Outcome) -> String {
    let Some(counted) = &outcome.counted else { return String::new() };
    let mut text = line("counters", &summary(counted));
    for (index, hardware) in counted.hardware.iter().enumerate() {
        let ours = counted.interpreter.as_ref().ok().and_then(|launches| launches.get(index));
        let _ = write!(text, "\n  launch {}\n{}", index + 1, launch(ours, hardware));
    }
    text + "\n" + &notes(counted)
}

/// Describes where the counts come from, and whether they agree.
fn summary(counted: &Counted) -> String {
    let passes = match counted.passes {
        1 => "once".to_owned(),
        many => format!("{many} times"),
    };
    let by = format!("read by CUPTI {}, which ran each launch {passes}", counted.version);
    match (&counted.interpreter, counted.compared()) {
        (Err(why), _) => format!("{by}; {why}"),
        (Ok(_), (all, 0)) => format!("{by}: all {all} common counts are equal"),
        (Ok(_), (all, some)) => format!("{by}: {some} of {all} common counts differ"),
    }
}

fn launch(ours: Option<&Counts>, hardware: &Values) -> String {
    let mut table = columns(&["count", "interpreter", "hardware", "verdict"]);
    let cell = |count: Option<u64>| count.map_or(NONE.into(), group);
    let mut row = |name: &str, here: Option<u64>, there: Option<u64>, verdict: &str| {
        table.add_row([name.to_owned(), cell(here), cell(there), verdict.to_owned()]);
    };
    for (name, index) in BOTH {
        let (here, there) = (ours.map(SAME[index]), hardware[index]);
        let verdict = match here {
            None => NONE,
            Some(here) if here as f64 == there => "equal",
            Some(_) => "differs",
        };
        row(name, here, Some(there as u64), verdict);
        if index == 3 {
            let verdict = if ours.is_some() { "derived" } else { NONE };
            row("conflicts", ours.map(conflicts), ours.map(|c| extra(c, hardware)), verdict);
        }
    }
    for (name, count, index) in OTHER {
        let verdict = if ours.is_some() { "not comparable" } else { NONE };
        row(name, ours.map(count), Some(hardware[index] as u64), verdict);
    }
    for (name, count) in OURS {
        row(name, ours.map(count), None, NONE);
    }
    lines(&right(&mut table, 1..3))
}

/// Returns the number of wavefronts beyond the minimum that the accesses need.
fn conflicts(counts: &Counts) -> u64 {
    counts.shared_ld_conflicts + counts.shared_st_conflicts
}

/// Like [`conflicts`], but for the hardware's wavefronts. The minimum depends on the width of each
/// access, which only the interpreter reports.
fn extra(ours: &Counts, hardware: &Values) -> u64 {
    let wavefronts = ours.shared_ld_wavefronts + ours.shared_st_wavefronts;
    let least = wavefronts - conflicts(ours);
    ((hardware[2] + hardware[3]) as u64).saturating_sub(least)
}

/// Explains the terms that occur in the last column.
fn notes(counted: &Counted) -> String {
    let mut text = String::new();
    if counted.interpreter.is_ok() {
        text += &line("derived", "wavefronts beyond the minimum that the accesses need");
        text += &line(
            "not",
            "comparable: the chip does not execute PTX; ptxas translates it to other instructions, and decides which branches remain",
        );
    }
    text += &line(
        NONE,
        "CUPTI has no such count, but ncu does: `ladder counters` prints the ncu command",
    );
    if merged(counted) {
        text += &line(
            "differs",
            "fewer shared accesses than in the PTX: ptxas merged neighbouring accesses into wider ones, which move the same bytes",
        );
    }
    if looked(counted) {
        text += &line(
            "differs",
            "more global loads: blocks that wait for each other poll, and the number of polls depends on timing",
        );
    }
    text
}

/// Returns whether the chip executed more global loads than the interpreter.
fn looked(counted: &Counted) -> bool {
    let Ok(ours) = &counted.interpreter else { return false };
    ours.iter().zip(&counted.hardware).any(|(ours, theirs)| theirs[4] > SAME[4](ours) as f64)
}

/// Returns whether the chip executed fewer shared memory accesses than the PTX contains, which is
/// expected.
fn merged(counted: &Counted) -> bool {
    let Ok(ours) = &counted.interpreter else { return false };
    let fewer = |(ours, theirs): (&Counts, &Values)| {
        (0..2).any(|index| theirs[index] < SAME[index](ours) as f64)
    };
    ours.iter().zip(&counted.hardware).any(fewer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::cupti::counters::METRICS;

    fn counted(change: impl Fn(&mut Values)) -> Counted {
        let counts = Counts {
            shared_ld: 28,
            shared_st: 14,
            shared_ld_wavefronts: 60,
            shared_st_wavefronts: 21,
            shared_ld_conflicts: 32,
            shared_st_conflicts: 7,
            global_ld_sectors: 1024,
            warp_insts: 5000,
            barriers: 77,
            ..Counts::default()
        };
        let mut values = [0.0; METRICS.len()];
        for (value, same) in values.iter_mut().zip(SAME) {
            *value = same(&counts) as f64;
        }
        values[9] = 4321.0;
        change(&mut values);
        Counted {
            version: "13.0".into(),
            passes: 4,
            hardware: vec![values],
            interpreter: Ok(vec![counts]),
        }
    }

    fn row<'t>(table: &'t str, name: &str) -> Vec<&'t str> {
        let row = table.lines().find(|row| row.trim_start().starts_with(name)).expect(name);
        row.trim_start()[name.len()..].split_whitespace().collect()
    }

    #[test]
    fn common_counts_are_equal_or_differ() {
        let counted = counted(|values| values[6] = 1025.0);
        let Ok(ours) = &counted.interpreter else { unreachable!() };
        let table = launch(Some(&ours[0]), &counted.hardware[0]);
        assert_eq!(row(&table, "shared loads"), ["28", "28", "equal"]);
        assert_eq!(row(&table, "wavefronts for stores"), ["21", "21", "equal"]);
        assert_eq!(row(&table, "conflicts"), ["39", "39", "derived"]);
        assert_eq!(row(&table, "global load sectors"), ["1,024", "1,025", "differs"]);
        assert_eq!(row(&table, "instructions"), ["5,000", "4,321", "not", "comparable"]);
        assert_eq!(row(&table, "barriers"), ["77", "–", "–"]);
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        assert!(summary(&counted).contains("4 times"), "{}", summary(&counted));
        assert!(summary(&counted).ends_with("1 of 8 common counts differ"));
        assert!(!notes(&counted).contains("merged"));
    }

    #[test]
    fn merged_accesses_are_explained_if_there_are_fewer() {
        let counted = counted(|values| values[0] = 14.0);
        assert!(notes(&counted).contains("ptxas merged"), "{}", notes(&counted));
    }

    #[test]
    fn large_sums_have_the_hardware_s_counts_alone() {
        let why = "the interpreter counts only inputs of fewer than 2^21 elements".to_owned();
        let counted = Counted { interpreter: Err(why.clone()), ..counted(|_| ()) };
        let table = launch(None, &counted.hardware[0]);
        assert_eq!(row(&table, "shared loads"), ["–", "28", "–"]);
        assert_eq!(row(&table, "conflicts"), ["–", "–", "–"]);
        assert!(summary(&counted).ends_with(&why));
    }

    #[test]
    fn polling_is_explained_if_the_chip_loads_more() {
        for (loads, more) in [(0.0, false), (5.0, true)] {
            let said = notes(&counted(|values| values[4] += loads));
            assert_eq!(said.contains("more global loads"), more, "{said}");
        }
        let fewer = Counts { global_ld_requests: 3, ..Counts::default() };
        let fewer = Counted { interpreter: Ok(vec![fewer]), ..counted(|values| values[4] = 2.0) };
        assert!(!looked(&fewer), "fewer loads are not polling");
    }

    #[test]
    fn each_launch_has_a_table() {
        let mut outcome = Outcome::made_up("v0-naive", 1000, &[1e-6]);
        assert_eq!(side_by_side(&outcome), "");
        let one = counted(|_| ());
        outcome.counted = Some(Counted { hardware: vec![one.hardware[0]; 2], ..one });
        let text = side_by_side(&outcome);
        let text = anstream::adapter::strip_str(&text).to_string();
        // The interpreter has counted only the first launch.
        expect_test::expect_file!["said/beside.txt"].assert_eq(&text);
    }
}
