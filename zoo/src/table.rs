//! Formats the output in 80 columns: a table of all bugs, or a page about one bug.

use std::fmt::Write as _;

use simt::observe::Finding;

use crate::{Bug, Outcome, SCHEDULES};

/// The width of the output, in columns.
const WIDTH: usize = 80;

/// Returns a table with a line for each bug.
pub fn table<'a>(outcomes: impl IntoIterator<Item = (&'a Bug, &'a Outcome)>) -> String {
    let mut out =
        format!("{:20} {:>8} {:28} {:14} {:>5}\n", "bug", "correct", "finding", "schedule", "line");
    let (mut bugs, mut caught, mut always) = (0, 0, 0);
    for (bug, outcome) in outcomes {
        bugs += 1;
        always += usize::from(outcome.right == SCHEDULES.len());
        let right = format!("{} of {}", outcome.right, SCHEDULES.len());
        let (finding, schedule, lines) = match outcome.of(bug.fault) {
            Some((schedule, finding)) => {
                caught += 1;
                (finding.fault.name(), schedule.to_string(), lines(finding))
            }
            None => ("none", String::new(), String::new()),
        };
        let _ = writeln!(out, "{:20} {right:>8} {finding:28} {schedule:14} {lines:>5}", bug.name);
    }
    let schedules: Vec<String> = SCHEDULES.iter().map(ToString::to_string).collect();
    let told = format!(
        "{caught} of {bugs} bugs were found; {always} gave the correct sum under every schedule. The schedules are {}, \
         and adversarial:2 to {}, with two launches under each.",
        schedules[..3].join(", "),
        schedules[SCHEDULES.len() - 1].trim_start_matches("adversarial:")
    );
    out + "\n" + &wrapped(&told, "")
}

/// Returns a page about one bug: its claim, its fault, and every finding in full.
pub fn page(bug: &Bug, outcome: &Outcome) -> String {
    let mut out = format!(
        "{}: zoo/kernels/{}.cu, on {} ({})\n\n",
        bug.name, bug.name, outcome.arch, outcome.arch.gpu
    );
    out += &wrapped(&format!("It claims: {}", bug.claim()), "");
    out += &wrapped(&format!("Wrong: {}", bug.wrong()), "");
    let _ = writeln!(
        out,
        "\nThe sum was correct under {} of {} schedules.",
        outcome.right,
        SCHEDULES.len()
    );
    for (schedule, finding) in &outcome.found {
        let _ = writeln!(out, "\nUnder {schedule}, {}:", finding.fault.name());
        out += &wrapped(&finding.sentence(), "  ");
        for line in numbers(finding) {
            let text = bug.source.lines().nth(line as usize - 1).unwrap_or_default();
            let _ = writeln!(out, "  {line:3} | {}", text.trim());
        }
    }
    out
}

/// Returns the distinct source lines in the example of a finding.
fn numbers(finding: &Finding) -> Vec<u32> {
    let mut lines: Vec<u32> =
        finding.sites.iter().map(|site| site.line).filter(|line| *line > 0).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

fn lines(finding: &Finding) -> String {
    numbers(finding).iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Wraps a text at 80 columns.
pub fn wrapped(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty()
            && indent.len() + line.chars().count() + 1 + word.chars().count() > WIDTH
        {
            let _ = writeln!(out, "{indent}{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    let _ = writeln!(out, "{indent}{line}");
    out
}
