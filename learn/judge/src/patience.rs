//! Finds loops that poll, but end after a number of attempts.
//!
//! No run can show that a loop waits for as long as it takes, so this module reads the PTX: it looks
//! for a counter in the innermost loop around a poll, whose comparison with a constant ends the
//! loop.

use std::collections::{BTreeMap, BTreeSet};

/// The beginnings of the instructions that poll.
const POLLS: [&str; 7] = [
    "ld.volatile",
    "ld.relaxed",
    "ld.acquire",
    "ld.mmio",
    "atom.",
    "mbarrier.try",
    "mbarrier.test",
];

/// A loop that counts at least this far counts attempts, because there are at most 256 messages.
const MANY: u64 = 512;

/// Returns the source line of a comparison that ends a polling loop after a number of attempts.
pub(crate) fn gives_up(ptx: &str) -> Option<u32> {
    let lines: Vec<&str> = ptx.lines().map(str::trim).collect();
    let labels: BTreeMap<&str, usize> =
        (0..).zip(&lines).filter_map(|(at, line)| Some((line.strip_suffix(':')?, at))).collect();
    let target = |line: &str| {
        let (_, label) = line.split_once("bra")?;
        labels.get(label.trim_start_matches(".uni").trim().trim_end_matches(';')).copied()
    };
    let back = (0..lines.len()).filter_map(|at| Some((target(lines[at])?, at)));
    let loops: Vec<(usize, usize)> = back.filter(|(label, at)| label < at).collect();
    let polls = (0..lines.len()).filter(|at| {
        POLLS.iter().any(|poll| lines[*at].contains(poll)) && !lines[*at].starts_with("//")
    });
    polls.into_iter().find_map(|poll| {
        let around = loops.iter().filter(|(first, last)| (*first..=*last).contains(&poll));
        let (first, last) = *around.min_by_key(|(first, last)| last - first)?;
        let starts = |counter: &str| {
            let names =
                |line: &str| line.starts_with("mov.") && words(line).get(1) == Some(&counter);
            let numbers =
                lines[..first].iter().filter(|line| names(line)).flat_map(|line| number(line));
            numbers.max().unwrap_or(0)
        };
        let compared = counted(&lines[first..=last], starts, |line| {
            target(line).is_some_and(|at| at <= first || at > last)
        })?;
        Some(source_line(&lines[..first + compared]))
    })
}

/// Returns the position of a comparison of a counter with a constant, if a branch that depends on it
/// ends or repeats the loop.
fn counted(
    lines: &[&str],
    starts: impl Fn(&str) -> u64,
    ends: impl Fn(&str) -> bool,
) -> Option<usize> {
    let all: Vec<Vec<&str>> = lines.iter().map(|line| words(line)).collect();
    let is_move = |to: &str, from: &str| {
        all.iter().any(|w| w.len() == 3 && w[0].starts_with("mov.") && w[1] == to && w[2] == from)
    };
    let mut counters: BTreeSet<&str> = BTreeSet::new();
    for w in all.iter().filter(|w| w.len() == 4 && w[0].starts_with("add.")) {
        if w[3].parse::<i64>().is_ok() && (w[1] == w[2] || is_move(w[2], w[1])) {
            counters.extend([w[1], w[2]]);
        }
    }
    (0..all.len()).find(|at| {
        let w = &all[*at];
        let Some(constant) = number(lines[*at]).filter(|_| w[0].starts_with("setp.")) else {
            return false;
        };
        let is_counter = w.iter().skip(2).any(|word| counters.contains(word));
        let most = counters.iter().map(|counter| starts(counter)).fold(constant, u64::max);
        if !is_counter || most < MANY {
            return false;
        }
        // The predicates that depend on the comparison.
        let mut from: BTreeSet<&str> = [w[1]].into();
        for w in all.iter().filter(|w| w.first().is_some_and(|op| op.ends_with(".pred"))) {
            if w.iter().skip(2).any(|word| from.contains(word)) {
                from.insert(w[1]);
            }
        }
        lines.iter().zip(&all).any(|(line, w)| {
            let guard = w.first().and_then(|word| word.strip_prefix('@'));
            guard.is_some_and(|guard| from.contains(guard.trim_start_matches('!'))) && ends(line)
        })
    })
}

/// Returns the words of an instruction.
fn words(line: &str) -> Vec<&str> {
    line.split([' ', '\t', ',', ';', '|']).filter(|word| !word.is_empty()).collect()
}

/// Returns the magnitude of the whole number among the operands of an instruction.
fn number(line: &str) -> Option<u64> {
    words(line).iter().skip(1).find_map(|word| word.parse::<i64>().ok()).map(i64::unsigned_abs)
}

/// Returns the line of the last `.loc` directive.
fn source_line(lines: &[&str]) -> u32 {
    let loc = lines.iter().rev().find_map(|line| line.strip_prefix(".loc"));
    loc.and_then(|loc| loc.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::gives_up;

    /// Returns a loop around a poll, with more instructions.
    fn polling(more: &str) -> String {
        format!(
            "mov.u32 %r97, 4096;\n$L1:\n.loc 1 53 9\nld.volatile.global.u64 %rd12, [%rd11];\n\
             setp.eq.s64 %p20, %rd12, 0;\n{more}\n$L2:\nret;"
        )
    }

    #[test]
    fn a_loop_that_ends_after_a_number_of_attempts_gives_up() {
        let both = "setp.lt.u32 %p21, %r97, 4194304;\nand.pred %p22, %p21, %p20;\n\
                    add.s32 %r97, %r97, 1;\n@%p22 bra $L1;";
        assert_eq!(gives_up(&polling(both)), Some(53));
        let leaves = "add.s32 %r98, %r97, -1;\nsetp.eq.s32 %p3, %r98, 0;\n@%p3 bra $L2;\n\
                      mov.u32 %r97, %r98;\n@%p20 bra.uni $L1;";
        assert_eq!(gives_up(&polling(leaves)), Some(53));
    }

    #[test]
    fn a_loop_that_waits_does_not() {
        assert_eq!(gives_up(&polling("@%p20 bra $L1;")), None);
        // A delay that depends on the number of attempts.
        let delay = "add.s32 %r97, %r97, 1;\nsetp.lt.u32 %p3, %r97, 1000;\n@%p3 bra $L3;\n\
                     nanosleep.u32 20;\n$L3:\n@%p20 bra $L1;";
        assert_eq!(gives_up(&polling(delay)), None);
        // The comparison is in a loop around the polling loop.
        let outer = "$L0:\n$L1:\nld.relaxed.gpu.u64 %rd1, [%rd2];\n\
                     @%p1 bra $L1;\nadd.s32 %r1, %r1, 64;\nsetp.lt.u32 %p2, %r1, 2560;\n@%p2 bra $L0;";
        assert_eq!(gives_up(outer), None);
    }
}
