//! Finds 32-bit integers that grow with the number of elements. They wrap in a launch on more
//! elements, which may take too long to run.

use std::collections::BTreeMap;

use super::{
    extra::{ALL_RUNS, Asked},
    first::First,
};
use crate::{
    Result,
    device::{Program, interpreter},
    plan::{Chip, Plan, Problem},
    sum::{Mismatch, Run, Scalar, Verdict},
};

/// The lengths of the runs. All elements are 0, so only indices, counts and lengths grow.
const LENGTHS: [u64; 3] = [1 << 15, 1 << 16, 1 << 17];

/// How often the lengths are doubled at most, until a plan uses the same kernel for all of them.
const MOST_SHIFT: u32 = 4;

/// The number of bytes of the elements that fit into the memory of a large GPU, and the number of
/// multiprocessors that such a GPU has at least.
const BYTES: u64 = 1 << 37;
const MULTIPROCESSORS: f64 = 100.0;

/// The largest integer of each operand that an instruction widens, by instruction and operand.
type Most = BTreeMap<(u32, usize), u64>;

/// Runs the first launch on three lengths. Returns a description of a 32-bit integer that grows in
/// proportion to the length, and that would wrap on the elements that fit into a GPU's memory.
pub(super) fn wrong_growth<T: Scalar>(
    asked: Asked<'_, T>,
    program: &Program,
    chip: Chip,
) -> Result<Option<Box<Mismatch>>> {
    if asked.values.len() < ALL_RUNS {
        return Ok(None);
    }
    let Program::Simt(program) = program else { return Ok(None) };
    let fits = (BYTES / T::ELEMENT.size()) as f64;
    let planned = |sms, n| {
        let chip = Chip { sms, ..chip };
        let problem = Problem { n, block: asked.block, element: T::ELEMENT, chip };
        ((asked.step.plan)(&problem), problem)
    };
    let run = |sms, n| most(asked, program, planned(sms, n));
    let entry = |n| planned(1, n).0.launches.first().map(|launch| launch.entry.clone());
    let lengths = |shift| LENGTHS.map(|n| (n << shift) + 13);
    let same = |[a, b, c]: [u64; 3]| entry(a) == entry(b) && entry(b) == entry(c);
    let Some([short, middle, long]) = (0..=MOST_SHIFT).map(lengths).find(|&all| same(all)) else {
        return Ok(None);
    };
    let [Some(first), Some(second), Some(third)] = [run(1, short)?, run(1, middle)?, run(1, long)?]
    else {
        return Ok(None);
    };
    let Some(kernel) = entry(long).and_then(|entry| program.kernel(&entry)) else {
        return Ok(None);
    };
    for (key, &c) in &third {
        let (Some(&a), Some(&b)) = (first.get(key), second.get(key)) else { continue };
        // The second difference of the lengths is twice the first one.
        let linear = a < b && b < c && (c - b).abs_diff(2 * (b - a)) <= (c - b) / 8;
        let Some(narrow) = kernel.widens(key.0).filter(|_| linear) else { continue };
        let wraps = |from: u64, to: u64| {
            narrow.range as f64 * (long - middle) as f64 / to.saturating_sub(from) as f64
        };
        let mut n = wraps(b, c);
        // On a GPU with more multiprocessors, an index in a block's part grows more slowly.
        if n < fits
            && let [Some(b), Some(c)] = [run(2, middle)?, run(2, long)?]
            && let (Some(&b), Some(&c)) = (b.get(key), c.get(key))
            && wraps(b, c) > 1.3 * n
        {
            n *= MULTIPROCESSORS;
        }
        if n >= fits {
            continue;
        }
        // A mask may keep bits above the lowest 32.
        let [b, c] = [b, c].map(|most| most / (narrow.range >> 32).max(1));
        let said = format!(
            "`{}` at {} uses 32 bits of an integer that grows with n: it is at most {b} on {middle} \
             elements and {c} on {long}, so it wraps before n is 2^{}: make the variable `unsigned \
             long long`, and cast the operands of its computation to that type",
            kernel.text(key.0).trim(),
            kernel.place(key.0),
            n.log2().ceil(),
        );
        let verdict = Verdict::of(T::ZERO, &T::sum(&[]), 0);
        let before = Run::Long(asked.values.len() as u64);
        let (_, problem) = planned(1, long);
        let mut wrong = Mismatch::of(asked.step, &problem, before, verdict, None);
        wrong.leftover = Some(said);
        return Ok(Some(Box::new(wrong)));
    }
    Ok(None)
}

/// Runs the first launch of a plan on zeros. Returns the largest integers; `None` if the launch cannot
/// run.
fn most<T: Scalar>(
    asked: Asked<'_, T>,
    program: &interpreter::Program,
    (plan, problem): (Plan, Problem),
) -> Result<Option<Most>> {
    if plan.launches.is_empty() || plan.check(&problem.chip).is_err() {
        return Ok(None);
    }
    let mut watch = simt::widening();
    let ran = First::new(asked, &plan, problem.n, |_| 0)?.launch(program, Some(&mut watch));
    let operands = watch.4.2.iter().flat_map(simt::observe::Widened::operands);
    let most = operands.map(|one| ((one.pc, one.operand), one.most)).collect();
    Ok(ran.is_ok().then_some(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Element, Step,
        device::{Choice, Device, Settings},
        plan::Block,
        run::{Job, played},
    };

    static STEP: Step = played::step("first thread", |problem| played::first_thread(problem, 1));

    /// Inserts instructions at the start of a kernel, and returns the fault.
    fn said(inserted: &str) -> Option<String> {
        let (start, settings) = ("mov.f32 %sum, 0f00000000;", &Settings::default());
        let text = played::TURNING.replace(start, &format!("{start}\n{inserted}\n"));
        let (ptx, block) = (&played::ptx(&text), Block::new(64).unwrap());
        let values = &vec![1.0f32; ALL_RUNS][..];
        let device = Device::open(Choice::Simt, settings).unwrap();
        let problem = device.problem(ALL_RUNS as u64, block, Element::F32);
        let job = Job::load(&device, &STEP, ptx, problem).unwrap();
        let asked = Asked { step: &STEP, ptx, values, block, settings, other_type: false };
        wrong_growth(asked, &job.program, problem.chip).unwrap().map(|wrong| wrong.to_string())
    }

    #[test]
    fn an_integer_that_grows_with_n_is_found() {
        assert_eq!(said(""), None);
        let found = said("cvt.u32.u64 %lane, %n;\nmul.wide.u32 %step, %lane, 16;").unwrap();
        for words in [
            "`mul.wide.u32 %step, %lane, 16` at PTX line ",
            "at most 65549 on 65549 elements and 131085 on 131085, so it wraps before n is 2^32",
        ] {
            assert!(found.contains(words), "{found}");
        }
        let found = said("and.b64 %step, %n, 4294967292;").expect("a mask");
        assert!(found.contains("before n is 2^32"), "{found}");
        let signed = said("cvt.u32.u64 %lane, %n;\ncvt.s64.s32 %step, %lane;").expect("an int");
        assert!(signed.contains("before n is 2^31"), "{signed}");
        assert!(said("cvt.s64.s32 %step, %n;").is_some());
        // An index of vectors of 16 bytes exceeds 2^32 on 2^34 elements.
        let shifted = "shr.u64 %step, %n, 2;\ncvt.u32.u64 %lane, %step;\ncvt.u64.u32 %step, %lane;";
        assert!(said(shifted).unwrap().contains("before n is 2^34"));
    }

    #[test]
    fn small_integers_are_accepted() {
        for right in [
            // The index of a tile of 32 elements, and the rest of a division.
            "shr.u64 %step, %n, 5;\ncvt.u32.u64 %lane, %step;\nmul.wide.u32 %step, %lane, 32;",
            "cvt.u32.u64 %lane, %n;\nand.b32 %lane, %lane, 1023;\ncvt.u64.u32 %step, %lane;",
            "and.b64 %step, %n, -4;",
            "and.b64 %step, %n, 15;",
            // A 64-bit division of small numbers.
            "div.u64 %step, %n, 3;\ncvt.u32.u64 %lane, %n;\ndiv.u32 %block, %lane, 3;\n\
             cvt.u64.u32 %step, %block;",
            // A division of the lower half, whose result is not widened.
            "cvt.u32.u64 %lane, %n;\ndiv.u32 %block, %lane, 3;",
        ] {
            assert_eq!(said(right), None, "{right}");
        }
        let alone = "cvt.u32.u64 %lane, %n;\ndiv.u32 %block, %lane, 3;\ncvt.u64.u32 %step, %block;";
        assert!(said(alone).is_some());
        let product = "cvt.u32.u64 %lane, %n;\nadd.u32 %lane, %lane, 8;\ndiv.u32 %block, %lane, 3;";
        assert!(said(product).is_some());
    }
}
