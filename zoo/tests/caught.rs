//! Tests that each bug is found by the check that is meant for it, on the line with the fault.

use std::thread;

use simt::Schedule;
use simt::observe::Fault;
use zoo::{BUGS, EARLY_RETURN, Outcome, SCHEDULES, page, table, watch};

fn outcome(name: &str) -> (&'static zoo::Bug, Outcome) {
    let bug = BUGS.iter().find(|bug| bug.name == name).unwrap_or_else(|| panic!("no bug {name}"));
    (bug, watch(bug).unwrap_or_else(|error| panic!("{name}: {error}")))
}

#[test]
fn each_is_caught_by_the_check_that_names_it_in_its_line() {
    // One thread per bug, so that the test uses all cores.
    let all: Vec<Outcome> = thread::scope(|scope| {
        let bugs: Vec<_> = BUGS.iter().map(|bug| scope.spawn(|| outcome(bug.name).1)).collect();
        bugs.into_iter().map(|bug| bug.join().unwrap()).collect()
    });
    for (bug, outcome) in BUGS.iter().zip(&all) {
        let (schedule, finding) = outcome
            .of(bug.fault)
            .unwrap_or_else(|| panic!("{} is not found: {outcome:?}", bug.name));
        let lines: Vec<&str> = finding
            .sites
            .iter()
            .map(|site| bug.source.lines().nth(site.line as usize - 1).unwrap_or_default())
            .collect();
        assert!(
            lines.iter().any(|line| line.contains(bug.at)),
            "{} under {schedule}: `{}` is in none of {lines:?}",
            bug.name,
            bug.at
        );
        // The bug causes no other findings than those in `ALSO`.
        let others: Vec<Fault> =
            outcome.found.iter().map(|(_, f)| f.fault).filter(|f| *f != bug.fault).collect();
        assert_eq!(
            others,
            ALSO.iter().filter(|a| a.0 == bug.name).map(|a| a.1).collect::<Vec<_>>(),
            "{}",
            bug.name
        );
    }
    let text = table(BUGS.iter().zip(&all));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("19 of 19 bugs were found"), "{text}");
}

/// The findings that a bug causes in addition to its own.
const ALSO: [(&str, Fault); 1] = [("full-mask", Fault::DivergentBarrier)];

/// On sm_70 and newer, a barrier does not wait for threads that have exited.
#[test]
fn an_early_return_is_no_bug() {
    for target in ["sm_60", "sm_70"] {
        let ptx = EARLY_RETURN.ptx.replace(".target sm_60", &format!(".target {target}"));
        assert!(ptx.contains(target));
        let outcome = watch(&zoo::Bug { ptx: ptx.leak(), ..EARLY_RETURN }).unwrap();
        assert_eq!(outcome.right, SCHEDULES.len(), "{target}");
        assert!(outcome.found.is_empty(), "{target}: {outcome:?}");
    }
}

#[test]
fn schedules_are_few_fixed_and_different() {
    assert!(SCHEDULES.len() <= 32);
    for (i, schedule) in SCHEDULES.iter().enumerate() {
        assert!(!SCHEDULES[..i].contains(schedule), "{schedule} twice");
    }
    assert_eq!(SCHEDULES[..2], [Schedule::Converged, Schedule::MinPc]);
}

#[test]
fn each_says_what_it_claims_and_what_is_wrong() {
    for bug in &BUGS {
        assert!(bug.claim().ends_with('.') && bug.wrong().ends_with('.'), "{}", bug.name);
        assert!(bug.source.lines().count() <= 40, "{} has too many lines", bug.name);
        assert!(!bug.at.is_empty() && bug.source.contains(bug.at), "{}", bug.name);
        assert_eq!(BUGS.iter().filter(|other| other.name == bug.name).count(), 1, "{}", bug.name);
    }
}

#[test]
fn a_page_shows_the_line_and_fits_its_width() {
    let (bug, outcome) = outcome("volatile-tail");
    let text = page(bug, &outcome);
    assert!(text.contains("row[tid] += row[tid + 32];") && text.contains("Wrong: "), "{text}");
    let prose = text.lines().filter(|line| !line.contains(" | "));
    assert!(prose.clone().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_copy_that_nobody_waits_for_comes_too_late_under_some_schedule() {
    let (_, outcome) = outcome("unwaited-copy");
    assert!((1..SCHEDULES.len()).contains(&outcome.right), "correct under {}", outcome.right);
}

/// An unknown name is a usage error, and the message fits into 80 columns.
#[test]
fn an_unknown_bug_is_a_usage_error() {
    let program = env!("CARGO_BIN_EXE_zoo");
    let output = std::process::Command::new(program).arg("no-such-bug").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("error: there is no bug `no-such-bug` in the zoo: choose "), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
}
