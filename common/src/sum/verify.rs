//! Verifies a sum and all of its partial sums, before anything is timed.

use std::fmt;

use numbers::{Reference, Scalar};
use simt::parallel;

use super::{
    elements::{Elements, elements},
    partial::{WrongPartial, about},
    verdict::Verdict,
};
use crate::{
    Element, Result, Step,
    plan::{Buffer, Plan, Problem, Stage},
};

/// The run in which a job computed a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// The first run, on the elements of the workload.
    First,
    /// The second run, on exact [`Elements`], which starts with the memory contents that the first
    /// run left behind.
    Exact,
    /// A run whose sum was correct, but that left message flags set or counters not reset.
    Messages,
    /// The third run, on fewer exact elements and therefore with another grid. The field is the
    /// number of elements in the earlier runs.
    Smaller(u64),
    /// A run on other elements, on another GPU or in another order than a first run, whose sum was
    /// right. The field is the number of elements in the first run.
    Extra(u64),
    /// A run of one block of a launch on a very long input. The field is the number of elements in
    /// the first run, whose sum was right.
    Long(u64),
    /// The last timed run, with its number.
    Later(u32),
}

/// A wrong sum, or a correct sum with a wrong partial sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The name of the step.
    pub step: String,
    /// The number of elements.
    pub n: u64,
    /// The element type.
    pub element: Element,
    /// The number of threads per block.
    pub threads: u32,
    /// The sum, and the reference that it was compared with.
    pub verdict: Verdict,
    /// The run that produced the sum.
    pub run: Run,
    /// The first wrong partial sum, if it is known.
    pub first: Option<WrongPartial>,
    /// A description of the state that a run leaves for the next run, or of another cause of the
    /// fault, if it is known.
    pub leftover: Option<String>,
    /// Whether the total of exact elements is correct, which shows that the kernel adds each
    /// element once.
    pub exact: bool,
}

impl Mismatch {
    /// Describes a step's wrong sum on a problem.
    pub fn of(
        step: &Step,
        problem: &Problem,
        run: Run,
        verdict: Verdict,
        first: Option<WrongPartial>,
    ) -> Mismatch {
        let (n, element) = (problem.n, problem.element);
        // A study has its own block size.
        let launched = (step.plan)(problem).launches.first().map(|launch| launch.block);
        let threads = launched.unwrap_or(problem.block.threads());
        Mismatch {
            step: step.name.to_owned(),
            n,
            element,
            threads,
            verdict,
            run,
            first,
            leftover: None,
            exact: false,
        }
    }

    /// Returns whether lost precision could explain the error. This is certain only if the kernel also
    /// adds [exact](Mismatch::exact) elements correctly.
    pub fn is_near(&self) -> bool {
        let partial = self.first.is_none_or(|first| first.near && !first.unwritten);
        partial && self.verdict.is_near()
    }

    /// Returns whether the kernel adds every element to the right sum, but too imprecisely.
    pub fn loses_precision(&self) -> bool {
        self.exact && self.run == Run::First && self.is_near()
    }

    /// Returns whether the kernel adds every element, although the partial sums are not those of
    /// the plan.
    pub fn adds_all(&self) -> bool {
        let partial = self.first.is_some_and(|first| !first.is_result);
        partial && self.verdict.verified() && (self.exact || self.verdict.error == 0.0)
    }
}

/// The number of partial sums that a thread verifies at a time.
const SUMS: usize = 64;

/// Finds the first wrong partial sum, stage by stage. The elements of a stage are the input, or the
/// sums of the previous stage.
///
/// `output` reads the sums of a stage, and `poison` is the value that memory had before the run.
pub fn first_wrong<T: Scalar>(
    plan: &Plan,
    elements: Elements<'_, T>,
    poison: T,
    mut output: impl FnMut(Buffer, u64) -> Result<Vec<T>>,
) -> Result<Option<WrongPartial>> {
    let mut read: Option<Vec<T>> = None;
    for (index, launch) in plan.launches.iter().enumerate() {
        for stage in &launch.stages {
            let sums = output(stage.sums, stage.holds.count())?;
            let added = read.as_deref().map_or(elements, Elements::drawn);
            // Exact elements have exact sums, so the next stage is exact too.
            let depth = if elements.round() { stage.depth } else { 0 };
            let found = |first: usize, sums: &[T]| {
                sums.iter().zip(first as u64..).find_map(|(&sum, place)| {
                    let verdict = Verdict::of(sum, &held(stage, added, place), depth);
                    (!verdict.verified()).then_some((place, verdict, same_bits(sum, poison)))
                })
            };
            let runs = sums.chunks(SUMS).collect();
            let found = parallel::map(0, runs, || (), |(), at, run| found(at * SUMS, run));
            let wrong = found.into_iter().flatten().next();
            if let Some((place, verdict, unwritten)) = wrong {
                let of = (index + 1, stage, added.count());
                let mut wrong = WrongPartial::of(plan, of, place, verdict, unwritten);
                wrong.near = all_near(stage, added, &sums, depth);
                return Ok(Some(wrong));
            }
            read = Some(sums);
        }
    }
    Ok(None)
}

/// Returns whether all sums of a stage are near to the sums of their elements.
fn all_near<T: Scalar>(stage: &Stage, added: Elements<'_, T>, sums: &[T], depth: u32) -> bool {
    let near = |first: usize, sums: &[T]| {
        sums.iter()
            .zip(first as u64..)
            .all(|(&sum, place)| Verdict::of(sum, &held(stage, added, place), depth).is_near())
    };
    let runs = sums.chunks(SUMS).collect();
    parallel::map(0, runs, || (), |(), at, run| near(at * SUMS, run)).into_iter().all(|near| near)
}

/// Returns the sum of the elements that sum number `place` of a stage holds.
fn held<T: Scalar>(stage: &Stage, added: Elements<'_, T>, place: u64) -> Reference {
    let ranges = stage.holds.ranges(added.count(), place);
    ranges.fold(T::sum(&[]), |sum, range| sum.plus(added.sum(range)))
}

fn same_bits<T: Scalar>(a: T, b: T) -> bool {
    bytemuck::bytes_of(&a) == bytemuck::bytes_of(&b)
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { step, n, element, threads, verdict, .. } = self;
        let Verdict { sum, expected, error, bound, .. } = verdict;
        write!(f, "{step} is wrong")?;
        match self.run {
            Run::First => {}
            Run::Messages => {
                let leftover = self
                    .leftover
                    .as_deref()
                    .unwrap_or("its message flags are still set when it ends");
                return write!(f, ", although its sums are right: {leftover}");
            }
            Run::Long(before) => {
                let said = self.leftover.as_deref().unwrap_or("a partial sum is wrong");
                return write!(
                    f,
                    " on a longer input, although its runs on {} were right: {said}",
                    elements(before)
                );
            }
            Run::Exact => {
                f.write_str(
                    " in its second run, although its first run looked right; the second run ",
                )?;
                f.write_str(match element {
                    Element::I32 => "adds other integers",
                    _ => "adds random values of +1 and -1, whose sums are exact",
                })?;
                f.write_str(", and starts with the memory that the first run left")?;
            }
            Run::Smaller(before) => write!(
                f,
                ", although its runs on {} were right, as is a first run on fewer elements: a run leaves state that breaks a later run with another grid",
                elements(before)
            )?,
            Run::Extra(before) => {
                write!(f, " in an extra run, although its runs on {} were right", elements(before))?
            }
            Run::Later(run) => write!(
                f,
                " in run {run}, and run 1 was right, so a run leaves state that breaks a later run"
            )?,
        }
        let what = format!("the sum of {n} {element} in blocks of {threads}");
        if self.adds_all() && self.loses_precision() {
            write!(f, ": {what} is right, but its partial sums are not precise enough: ")?;
        } else if self.adds_all() {
            write!(
                f,
                ": {what} is right, but its partial sums do not match the plan in `lib.rs`: "
            )?;
        } else if verdict.verified() {
            write!(f, ": {what} is off by {}, which rounding could explain, but ", about(*error))?;
        } else {
            write!(f, ": {what} is {expected}")?;
            if let Some(rounded) = verdict.rounds_to() {
                write!(f, ", which rounds to {rounded}")?;
            }
            write!(f, ", but the kernel gave {sum}")?;
            match (element, self.run) {
                _ if error.is_nan() || verdict.rounds_to().is_some() => {}
                _ if verdict.rounded.is_some() => write!(f, " (off by {})", about(*error))?,
                (Element::I32, _) | (_, Run::Exact | Run::Smaller(_)) => {
                    write!(f, " (off by {})", about(*error))?
                }
                _ => write!(
                    f,
                    " (off by {}, but its own rounding explains at most {bound:.1e})",
                    about(*error)
                )?,
            }
        }
        match &self.first {
            None => {}
            Some(wrong) if verdict.verified() => wrong.fmt(f)?,
            Some(wrong) => write!(f, "; {wrong}")?,
        }
        self.leftover.as_ref().map_or(Ok(()), |leftover| write!(f, "; {leftover}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Block, Chip, Holds, Phase, Problem},
        sum::Value,
    };

    fn plan(n: u64) -> Plan {
        let problem =
            Problem { n, block: Block::new(64).unwrap(), element: Element::I32, chip: Chip::H200 };
        Plan::until_one(
            &problem,
            &Phase { entry: "reduce".into(), tile: 64, shared: 256, depth: 6 },
        )
    }

    fn found(plan: &Plan, input: &[i32], partials: &[i32], sum: i32) -> Option<WrongPartial> {
        first_wrong(plan, Elements::drawn(input), -1, |buffer, _| {
            Ok(if buffer == Buffer::Result { vec![sum] } else { partials.to_vec() })
        })
        .unwrap()
    }

    #[test]
    fn nan_and_infinity_are_never_right() {
        let reference = Elements::drawn(&[1.0f32, 2.0]).total();
        assert!(Verdict::of(3.0f32, &reference, 8).verified());
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3.01, 0.0] {
            assert!(!Verdict::of(wrong, &reference, 8).verified(), "{wrong}");
        }
        for poisoned in [f32::NAN, f32::INFINITY] {
            let reference = Elements::drawn(&[1.0, poisoned]).total();
            assert!(!Verdict::of(poisoned, &reference, 8).verified(), "{poisoned}");
            assert!(!Verdict::of(1.0f32, &reference, 8).verified(), "{poisoned}");
        }
    }

    #[test]
    fn the_bound_is_no_wider_than_rounding_is() {
        // There are three consecutive additions of values whose magnitude is 4; each addition is
        // off by at most 2^-24.
        let reference = Elements::drawn(&[1.0f32; 4]).total();
        let Verdict { bound, .. } = Verdict::of(4.0f32, &reference, 3);
        assert!((0.71e-6..0.72e-6).contains(&bound), "{bound}");
        assert!(Verdict::of(4.0f32 + f32::EPSILON, &reference, 3).verified());
        assert!(!Verdict::of(4.000_002_f32, &reference, 3).verified());
    }

    #[test]
    fn integers_are_exact_and_wrap() {
        let reference = Elements::drawn(&[i32::MAX, 1]).total();
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
            let wrong = found(&plan(1000), &input, &partials, sum).unwrap();
            let last = (64 * broken as u64 + 63).min(999);
            assert_eq!(
                (wrong.launch, wrong.index, wrong.first, wrong.last),
                (1, broken as u64, 64 * broken as u64, last)
            );
            assert!(wrong.of_block && !wrong.unwritten);
        }
        let wrong = found(&plan(1000), &input, &right, 5).unwrap();
        assert_eq!((wrong.launch, wrong.index, wrong.first, wrong.last), (2, 0, 0, 15));
    }

    #[test]
    fn two_wrong_partials_whose_sum_is_right_are_found() {
        let input = [1; 200];
        let wrong = found(&plan(200), &input, &[64, 63, 65, 8], 200).unwrap();
        assert_eq!((wrong.index, wrong.verdict.sum, wrong.count), (1, Value::Int(63), 64));
        assert_eq!(
            wrong.to_string(),
            "block 1 of launch 1, which adds the elements 64 to 127, should store 64 as partial sum 1, which is 63 (off by 1)"
        );
    }

    #[test]
    fn a_block_that_never_wrote_is_named() {
        let wrong = found(&plan(200), &[1; 200], &[64, -1, 64, 8], 135).unwrap();
        assert_eq!(
            wrong.to_string(),
            "block 1 of launch 1, which adds the elements 64 to 127, never wrote its partial sum"
        );
        let shared = WrongPartial { of_block: false, ..wrong };
        assert!(shared.to_string().ends_with(", was never written by any block"), "{shared}");
    }

    #[test]
    fn a_mismatch_names_its_cause() {
        let verdict = |sum: f64, error: f64, bound: f64| Verdict {
            sum: Value::Float(sum),
            expected: Value::Float(2.0),
            error,
            bound,
            rounded: None,
        };
        let first = found(&plan(200), &[1; 200], &[64, 63, 65, 8], 200);
        let said = |element, run, verdict, first| {
            let (step, leftover) = ("v".to_owned(), None);
            let exact = false;
            Mismatch { step, n: 9, element, threads: 64, verdict, run, first, leftover, exact }
                .to_string()
        };
        let wrong = verdict(2.5, 0.5, 0.25);
        let parts = "block 1 of launch 1, which adds the elements 64 to 127, should store 64 as partial sum 1, which is 63 (off by 1)";
        assert_eq!(
            said(Element::F32, Run::First, wrong, None),
            "v is wrong: the sum of 9 f32 in blocks of 64 is 2, but the kernel gave 2.5 (off by 0.500, but its own rounding explains at most 2.5e-1)"
        );
        for (element, run) in [(Element::I32, Run::First), (Element::F64, Run::Exact)] {
            let text = said(element, run, wrong, first);
            assert!(text.ends_with(&format!("gave 2.5 (off by 0.500); {parts}")), "{text}");
        }
        let text = said(Element::F32, Run::First, verdict(f64::NAN, f64::NAN, 0.25), None);
        assert!(text.ends_with("is 2, but the kernel gave NaN"), "{text}");
        let text = said(Element::F32, Run::First, verdict(2.125, 0.125, 0.25), first);
        assert!(
            text.ends_with(&format!("is off by 0.125, which rounding could explain, but {parts}"))
        );
        // The kernel adds all elements, but divides them into parts that differ from its plan.
        let text = said(Element::F32, Run::First, verdict(2.0, 0.0, 0.25), first);
        let right =
            "in blocks of 64 is right, but its partial sums do not match the plan in `lib.rs`: ";
        assert!(text.ends_with(&format!("{right}{parts}")), "{text}");
        // The parts are those of the plan, but their sums are not precise enough.
        let near = first.map(|first| WrongPartial { near: true, ..first });
        let (step, leftover) = ("v".to_owned(), None);
        let (verdict, run) = (verdict(2.0, 0.0, 0.25), Run::First);
        let near = Mismatch {
            step,
            n: 9,
            element: Element::F32,
            threads: 64,
            verdict,
            run,
            first: near,
            leftover,
            exact: true,
        };
        let precise = format!(
            "in blocks of 64 is right, but its partial sums are not precise enough: {parts}"
        );
        assert!(near.to_string().ends_with(&precise), "{near}");
        assert!(near.loses_precision() && !Mismatch { exact: false, ..near }.loses_precision());
        let distances = [7.0, 0.5, 0.001, 1e15, 1e16].map(about);
        assert_eq!(distances, ["7", "0.500", "1.00e-3", "1.00e15", "1.00e16"]);
    }

    /// No distance can explain such a sum, because only one value is right.
    #[test]
    fn a_sum_that_is_rounded_once_has_no_bound() {
        let (large, third) = (16_777_216.0f32, 1.0 / 3.0f64);
        let mut wrong = found(&plan(2), &[1, 1], &[3], 3).unwrap();
        wrong.verdict = Verdict::of(large + 2.0, &f32::sum(&[large, 1.0]), 0);
        let text = wrong.to_string();
        let said = "gave 16777218 instead of 16777217; the exact sum rounds to 16777216";
        assert!(text.ends_with(said), "{text}");
        let tie = Verdict::of(1.0 + f64::EPSILON, &f64::sum(&[1.0, 2f64.powi(-53)]), 0);
        let near = Verdict::of(third + 1e-9, &f64::sum(&[third, 1e-30]), 0);
        for verdict in [tie, near] {
            wrong.verdict = verdict;
            let mismatch = Mismatch {
                step: "v".into(),
                n: 2,
                element: Element::F64,
                threads: 64,
                verdict,
                run: Run::First,
                first: None,
                leftover: None,
                exact: false,
            };
            for text in [wrong.to_string(), mismatch.to_string()] {
                assert!(text.contains("off by") && !text.contains("explains"), "{text}");
            }
        }
    }

    #[test]
    fn the_elements_of_a_stride_are_named() {
        let mut strided = plan(1000);
        strided.launches.truncate(1);
        strided.launches[0].stages[0].holds = Holds::Strides { tile: 64, count: 4, width: 1 };
        let input = [1; 1000];
        let wrong = found(&strided, &input, &[256, 256, 231, 232], 0).unwrap();
        assert_eq!((wrong.index, wrong.first, wrong.last, wrong.count), (2, 128, 959, 256));
        assert!(wrong.to_string().contains("adds 256 of the elements from 128 to 959"), "{wrong}");
    }

    #[test]
    fn a_right_sum_has_no_wrong_partial() {
        assert_eq!(found(&plan(0), &[], &[], 0), None);
    }

    #[test]
    fn exact_elements_allow_no_error() {
        let n = 1 << 16;
        let parts = |broken: f32| -> Vec<f32> {
            let sum = |from: u64| (from..from + 64).map(f32::exact).sum::<f32>();
            let mut sums: Vec<f32> = (0..n).step_by(64).map(sum).collect();
            sums[77] += broken;
            sums
        };
        let wrong = |broken: f32| {
            let partials = parts(broken);
            let sums: Vec<f32> = partials.chunks(64).map(|chunk| chunk.iter().sum()).collect();
            first_wrong(&plan(n), Elements::exact(n), f32::NAN, |buffer, count| {
                Ok(match (buffer, count) {
                    (Buffer::Result, _) => vec![sums.iter().sum()],
                    (_, 1024) => partials.clone(),
                    _ => sums.clone(),
                })
            })
            .unwrap()
        };
        assert_eq!(wrong(0.0), None);
        let wrong = wrong(1.0).unwrap();
        assert_eq!((wrong.index, wrong.verdict.error, wrong.verdict.bound), (77, 1.0, 0.0));
    }
}
