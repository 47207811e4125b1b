//! Is the sum right? Asked before anything is timed.

use std::{fmt, ops::Range};

use super::{
    reference::Reference,
    scalar::{Scalar, Value},
};
use crate::{
    Element, Step,
    plan::{Buffer, Plan, Problem},
};

/// The answer, with what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// What the kernel gave.
    pub sum: Value,
    /// The exact sum, in the element type.
    pub expected: Value,
    /// The distance between them.
    pub error: f64,
    /// The largest distance that the kernel's own rounding explains.
    pub bound: f64,
}

impl Verdict {
    /// Holds a sum against the reference.
    pub fn of<T: Scalar>(sum: T, reference: &Reference, depth: u32) -> Verdict {
        Verdict {
            sum: sum.value(),
            expected: T::expected(reference),
            error: sum.distance(reference),
            bound: reference.bound(depth, T::ROUNDOFF),
        }
    }

    /// Whether the sum is right. A NaN or an infinity on either side never is.
    pub fn verified(&self) -> bool {
        self.bound.is_finite() && self.error <= self.bound
    }
}

/// A wrong sum, with the first partial sum that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The step.
    pub step: String,
    /// Elements.
    pub n: u64,
    /// Their type.
    pub element: Element,
    /// Threads of a block.
    pub threads: u32,
    /// The sum against the reference.
    pub verdict: Verdict,
    /// Which of the job's runs gave it: 1 for the verified one, more for the last that was timed.
    pub run: u32,
    /// Where it went wrong first, if that can be told.
    pub first: Option<WrongPartial>,
}

impl Mismatch {
    /// Of a step on a problem.
    pub fn of(
        step: &Step,
        problem: &Problem,
        run: u32,
        verdict: Verdict,
        first: Option<WrongPartial>,
    ) -> Mismatch {
        let (n, element, threads) = (problem.n, problem.element, problem.block.threads());
        Mismatch { step: step.name.to_owned(), n, element, threads, verdict, run, first }
    }
}

/// A partial sum that is not the sum of what it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrongPartial {
    /// The launch that wrote it, from 1.
    pub launch: usize,
    /// The block that wrote it.
    pub block: u64,
    /// The first element that the block was to add.
    pub first: u64,
    /// The last one; before `first` for an empty tile.
    pub last: u64,
    /// What it is, against what it should be.
    pub verdict: Verdict,
}

/// Looks for the first wrong partial sum: launch by launch, each held against its own input.
///
/// `output` reads back what a launch wrote.
pub fn first_wrong<T: Scalar>(
    plan: &Plan,
    input: &[T],
    mut output: impl FnMut(Buffer, u64) -> Option<Vec<T>>,
) -> Option<WrongPartial> {
    let mut read: Option<Vec<T>> = None;
    for (index, launch) in plan.launches.iter().enumerate() {
        for stage in &launch.stages {
            let sums = output(stage.sums, stage.holds.count())?;
            let values = read.as_deref().unwrap_or(input);
            for (block, &sum) in (0..).zip(&sums) {
                let ranges: Vec<_> = stage.holds.ranges(values.len() as u64, block).collect();
                let of = |range: &Range<u64>| &values[range.start as usize..range.end as usize];
                let held: Vec<T> = ranges.iter().flat_map(of).copied().collect();
                let verdict = Verdict::of(sum, &T::sum(&held), stage.depth);
                if !verdict.verified() {
                    let first = ranges.first().map_or(0, |range| range.start);
                    let last = ranges.last().map_or(0, |range| range.end - 1);
                    let launch = index + 1;
                    return Some(WrongPartial { launch, block, first, last, verdict });
                }
            }
            read = Some(sums);
        }
    }
    None
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { step, n, element, threads, verdict, .. } = self;
        write!(
            f,
            "{step} is wrong: the sum of {n} {element} in blocks of {threads} is {}, the kernel gave {} \
             (off by {}, where its own rounding explains at most {:.3e})",
            verdict.expected, verdict.sum, verdict.error, verdict.bound
        )?;
        if self.run > 1 {
            let run = self.run;
            write!(
                f,
                "; that was run {run}, and run 1 was right: a run leaves behind what the next one trips over"
            )?;
        }
        match &self.first {
            None => Ok(()),
            Some(wrong) => write!(
                f,
                "; the first wrong partial sum is that of block {} in launch {}, which adds the elements {} to {}: {} instead of {}",
                wrong.block,
                wrong.launch,
                wrong.first,
                wrong.last,
                wrong.verdict.sum,
                wrong.verdict.expected
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Block, Chip, Phase, Problem};

    fn plan(n: u64) -> Plan {
        let problem =
            Problem { n, block: Block::new(64).unwrap(), element: Element::I32, chip: Chip::H200 };
        Plan::until_one(
            &problem,
            &Phase { entry: "reduce".into(), tile: 64, shared: 256, depth: 6 },
        )
    }

    #[test]
    fn nan_and_infinity_are_never_right() {
        let reference = Reference::of(&[1.0f32, 2.0]);
        assert!(Verdict::of(3.0f32, &reference, 8).verified());
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3.01, 0.0] {
            assert!(!Verdict::of(wrong, &reference, 8).verified(), "{wrong}");
        }
        for poisoned in [f32::NAN, f32::INFINITY] {
            let reference = Reference::of(&[1.0, poisoned]);
            assert!(!Verdict::of(poisoned, &reference, 8).verified(), "{poisoned}");
            assert!(!Verdict::of(1.0f32, &reference, 8).verified(), "{poisoned}");
        }
    }

    #[test]
    fn integers_are_exact_and_wrap() {
        let reference = Reference::of(&[i32::MAX, 1]);
        assert!(Verdict::of(i32::MIN, &reference, 1).verified());
        assert!(!Verdict::of(i32::MIN + 1, &reference, 1).verified());
        assert_eq!(Verdict::of(i32::MIN, &reference, 1).expected, Value::Int(i64::from(i32::MIN)));
    }

    #[test]
    fn the_first_wrong_partial_is_named() {
        let input: Vec<i32> = (0..1000).collect();
        let right: Vec<i32> = input.chunks(64).map(|c| c.iter().sum()).collect();
        for broken in [0, 7, 15] {
            let mut partials = right.clone();
            partials[broken] += 1;
            let sum: i32 = partials.iter().sum();
            let wrong = first_wrong(&plan(1000), &input, |buffer, _| match buffer {
                Buffer::Result => Some(vec![sum]),
                _ => Some(partials.clone()),
            })
            .unwrap();
            let last = (64 * broken as u64 + 63).min(999);
            assert_eq!(
                (wrong.launch, wrong.block, wrong.first, wrong.last),
                (1, broken as u64, 64 * broken as u64, last)
            );
        }
        let wrong = first_wrong(&plan(1000), &input, |buffer, _| match buffer {
            Buffer::Result => Some(vec![5]),
            _ => Some(right.clone()),
        })
        .unwrap();
        assert_eq!((wrong.launch, wrong.block, wrong.first, wrong.last), (2, 0, 0, 15));
    }

    #[test]
    fn a_right_sum_has_no_wrong_partial() {
        let wrong = first_wrong(&plan(0), &[] as &[i32], |_, _| Some(vec![0]));
        assert_eq!(wrong, None);
    }
}
