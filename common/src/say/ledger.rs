//! The interpreter's counts per launch, per round, and per line of the kernel.

use std::{collections::BTreeMap, fmt::Write as _};

use simt::{Counters, Counts};

use numbers::group;

use super::report::{columns, line, right};
use crate::{
    device::{Check, Observed},
    run::Outcome,
};

/// The maximum number of `printf` texts that are printed.
const PRINTED: usize = 8;

/// The maximum number of findings that are printed, because one bug often causes many findings.
const SHOWN: usize = 3;

/// The legend for the columns.
const LEGEND: &str = "lanes: active, of 32 · conflicts: extra shared wavefronts · sectors: of 32 B";

/// Formats the counts for each launch, and for each round of the first launch.
pub fn ledger(outcome: &Outcome) -> String {
    let Some(observed) = &outcome.observed else { return String::new() };
    let mut text = line("counts", "interpreted: counts, not times") + "\n";
    text += &launches(&observed.counters);
    let _ = writeln!(text, "  {LEGEND}");
    text += &rounds(observed);
    text += &checks(observed);
    text += &printed(observed);
    text
}

/// Formats the counts for each launch.
fn launches(counters: &Counters) -> String {
    let mut launches = columns(&[
        "launch",
        "insts",
        "lanes",
        "divergent",
        "shared",
        "conflicts",
        "barriers",
        "sectors",
    ]);
    for (index, launch) in counters.launches.iter().enumerate() {
        let c = &launch.counts;
        launches.add_row(vec![
            (index + 1).to_string(),
            group(c.warp_insts),
            lanes(c),
            group(c.divergent_branches),
            group(c.shared_ld + c.shared_st),
            group(c.shared_ld_conflicts + c.shared_st_conflicts),
            group(c.barriers),
            group(c.global_ld_sectors + c.global_st_sectors),
        ]);
    }
    format!("{}\n", right(&mut launches, 0..8))
}

/// Formats the counts for each round of the first launch. A round lasts from one block barrier to
/// the next, over all blocks.
fn rounds(observed: &Observed) -> String {
    let Some(launch) = observed.counters.launches.first().filter(|launch| launch.rounds.len() > 1)
    else {
        return String::new();
    };
    let mut rounds =
        columns(&["round", "insts", "lanes", "divergent", "ld", "st", "conflicts", "shuffles"]);
    for (index, c) in launch.rounds.iter().enumerate() {
        rounds.add_row(vec![
            index.to_string(),
            group(c.warp_insts),
            lanes(c),
            group(c.divergent_branches),
            group(c.shared_ld),
            group(c.shared_st),
            group(c.shared_ld_conflicts + c.shared_st_conflicts),
            group(c.shuffles),
        ]);
    }
    format!("\n  rounds of launch 1, from barrier to barrier\n{}\n", right(&mut rounds, 0..8))
}

/// Formats the first texts that threads printed.
fn printed(observed: &Observed) -> String {
    let mut text = String::new();
    for (index, printed) in observed.printed.iter().take(PRINTED).enumerate() {
        text += &line(if index == 0 { "printed" } else { "" }, &printed.to_string());
    }
    let shown = observed.printed.len().min(PRINTED) as u64;
    if let more @ 1.. = observed.prints - shown {
        text += &line("", &format!("and {} more", group(more)));
    }
    text
}

/// Formats the checks and their findings.
fn checks(observed: &Observed) -> String {
    let names = observed.checks.iter().map(|check| match check {
        Check::Races => "races",
        Check::Memory => "uninitialized or foreign memory",
        Check::Sync => "misused barriers",
    });
    let names: Vec<&str> = names.collect();
    let mut text = String::from("\n");
    if names.is_empty() {
        text += &line(
            "checks",
            "none, because there are too many elements; to run them, use `--check races,memory,sync`",
        );
    } else if observed.findings.is_empty() {
        text += &line("checks", &format!("no {}", names.join(", no ")));
    }
    for finding in observed.findings.iter().take(SHOWN) {
        let label = if finding.is_harmless() { "note" } else { "FOUND" };
        text += &line(label, &finding.sentence());
        text += &line("", &format!("({})", finding.details()));
    }
    if let Some(more @ 1..) = observed.findings.len().checked_sub(SHOWN) {
        text += &line("", &format!("and {more} more like these"));
    }
    text
}

/// Formats the average number of active lanes per warp instruction, out of 32.
fn lanes(counts: &Counts) -> String {
    if counts.warp_insts == 0 {
        return "-".into();
    }
    format!("{:.1}", counts.thread_insts as f64 / counts.warp_insts as f64)
}

/// Implements `--lines`, which prints the kernel with the counts for each line, summed over all
/// launches.
pub fn lines(outcome: &Outcome) -> String {
    let Some(observed) = &outcome.observed else { return String::new() };
    let mut costs: BTreeMap<u32, Counts> = BTreeMap::new();
    for launch in &observed.counters.launches {
        for (&line, counts) in &launch.lines {
            *costs.entry(line).or_default() += counts;
        }
    }
    let mut text = format!("\n{:>12} {:>5} {:>10} |\n", "warp insts", "lanes", "conflicts");
    for (index, code) in outcome.source.lines().enumerate() {
        let margin = match costs.get(&(index as u32 + 1)) {
            None => " ".repeat(29),
            Some(c) => {
                let conflicts = c.shared_ld_conflicts + c.shared_st_conflicts;
                let conflicts = if conflicts == 0 { String::new() } else { group(conflicts) };
                format!("{:>12} {:>5} {conflicts:>10}", group(c.warp_insts), lanes(c))
            }
        };
        let _ = writeln!(text, "{margin} | {code}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_is_one_line() {
        assert!(2 + LEGEND.chars().count() <= 80);
    }

    #[test]
    fn each_count_stands_in_its_own_column() {
        let counts = Counts {
            warp_insts: 10,
            thread_insts: 320,
            divergent_branches: 1,
            shared_ld: 20,
            shared_st: 3,
            shared_ld_conflicts: 40,
            shared_st_conflicts: 5,
            barriers: 60,
            global_ld_sectors: 700,
            global_st_sectors: 8,
            ..Counts::default()
        };
        let mut counters = Counters::default();
        let mut launch = simt::LaunchCounts::default();
        launch.counts = counts;
        counters.launches.push(launch);
        let text = launches(&counters);
        let mut rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let names =
            ["launch", "insts", "lanes", "divergent", "shared", "conflicts", "barriers", "sectors"];
        assert_eq!(rows.next().unwrap(), names);
        assert_eq!(rows.next().unwrap(), ["1", "10", "32.0", "1", "23", "45", "60", "708"]);
    }

    #[test]
    fn the_first_printed_texts_are_shown_and_the_rest_counted() {
        let text = |index: u32| simt::observe::Printed {
            launch: 1,
            block: [index, 0, 0],
            thread: [3, 0, 0],
            line: 7,
            text: format!("x = {index}\n"),
        };
        let observed = Observed {
            counters: Counters::default(),
            schedule: simt::Schedule::Converged,
            checks: Vec::new(),
            findings: Vec::new(),
            older: None,
            printed: (0..20).map(text).collect(),
            prints: 3000,
            trace: None,
        };
        let said = printed(&observed);
        assert!(said.contains("block 7, thread 3: x = 7") && !said.contains("x = 8"), "{said}");
        assert!(said.contains("and 2,992 more"), "{said}");
        assert_eq!(said.matches("printed").count(), 1, "the first line alone is labelled: {said}");
        assert!(said.lines().next().unwrap().contains("printed"), "{said}");
    }

    #[test]
    fn a_launch_of_one_round_has_no_table_of_rounds() {
        let mut launch = simt::LaunchCounts::default();
        launch.rounds = vec![Counts::default()];
        let mut observed = Observed {
            counters: Counters::default(),
            schedule: simt::Schedule::Converged,
            checks: Vec::new(),
            findings: Vec::new(),
            older: None,
            printed: Vec::new(),
            prints: 0,
            trace: None,
        };
        observed.counters.launches.push(launch);
        assert_eq!(rounds(&observed), "");
        observed.counters.launches[0].rounds.push(Counts::default());
        assert_eq!(
            rounds(&observed)
                .lines()
                .filter(|line| line.contains("0.0") || line.contains('-'))
                .count(),
            2
        );
    }
}
