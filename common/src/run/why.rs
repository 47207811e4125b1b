//! Explains why a sum is wrong, or how to find the cause.

use simt::Schedule;

use super::Outcome;
use crate::{
    device::{Check, Observed},
    sum::{Mismatch, NEAR, Run},
};

impl Outcome {
    /// Explains why the sum is wrong, or how to find the cause.
    pub(super) fn why(&self, mismatch: &Mismatch) -> Option<String> {
        let Some(Observed { checks, findings, older, schedule, .. }) = &self.observed else {
            return Some("to find the reason, try `--device simt` with a smaller `--n`".into());
        };
        if let Some(first) = findings.first() {
            return Some(format!("the checks found: {}", first.sentence()));
        }
        if checks.len() < Check::ALL.len() {
            return Some(
                "to find the reason, run the step with `--check races,memory,sync`".into(),
            );
        }
        // If a partial sum was never written, or is wrong only in a second run, the message already
        // explains why.
        let told = mismatch.first.is_some_and(|first| first.unwritten);
        if mismatch.loses_precision() {
            return Some(format!(
                "the kernel adds each element to the right partial sum, but loses precision: its sums are within {NEAR} times of what the plan's additions in {} round, but not within once; do not convert values to integers or to a type with fewer bits, and do not add more of them one after another than the plan's `depth`",
                mismatch.element
            ));
        }
        if mismatch.adds_all() {
            return Some("the kernel adds every element, but the partial sums in its buffers are not those of the plan: change the stages of the plan, or let the kernel store the partial sums that the plan names, in that order".into());
        }
        let first = mismatch.run == Run::First && !told && mismatch.leftover.is_none();
        if let (true, Some(older)) = (first, older) {
            return Some(older.clone());
        }
        if mismatch.run == Run::First && mismatch.verdict.error.is_nan() && !told {
            return Some("the sum is NaN, although all elements are finite: is a variable read before it is set, so that the compiler may give it any value, or are the bits of another value taken for a float?".into());
        }
        let told = told || mismatch.leftover.is_some();
        (mismatch.run == Run::First && !told).then(|| match schedule {
            Schedule::Converged => "the checks found no error in memory accesses and barriers, so the kernel adds the wrong values: check which elements its threads load, which sums they combine, and whether each variable is initialized".into(),
            _ => format!("the checks found no error in memory accesses and barriers; run the step without `--schedule`, and if its sum is then right, the sum depends on the order {schedule}: let no thread or block use a value before a barrier, flag or ticket shows that it is complete"),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Step,
        device::{Choice, Device, Settings},
        plan::{Arg, Block, Buffer, Holds, Plan, Stage},
        run::{Samples, played, run},
        sum::{Input, Workload},
    };

    static FIRST: Step = played::step("first", |problem| played::first_thread(problem, 1));

    /// Two launches of the same kernel, whose last sum is the result.
    static TWICE: Step = played::step("twice", |problem| {
        let args =
            vec![Arg::Address(Buffer::Input), Arg::Address(Buffer::Result), Arg::U64(problem.n)];
        let stages = vec![Stage { sums: Buffer::Result, holds: Holds::ALL, depth: 64 }];
        let launch = played::launch(problem, 1, args, stages);
        Plan { launches: vec![launch.clone(), launch], scratch: Vec::new() }
    });

    fn fault(step: &Step, text: &str, input: Input) -> String {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let workload = Workload::<f32>::new(&device, input, 64, 1).unwrap();
        let (block, samples) = (Block::new(64).unwrap(), Samples { count: 0, warm: false });
        let outcome = run(step, &played::ptx(text), &device, &workload, block, samples).unwrap();
        outcome.fault().map_or(String::new(), |fault| fault.to_string())
    }

    /// The kernel keeps only some bits of its sum, which are enough for the exact elements.
    #[test]
    fn a_sum_that_loses_precision_is_not_called_a_sum_of_wrong_values() {
        let add = "add.f32 %sum, %sum, %x;";
        let with = |more: &str| played::TURNING.replace(add, &format!("{add}\n{more}"));
        let cut = with("mov.b32 %lane, %sum;\nand.b32 %lane, %lane, -128;\nmov.b32 %sum, %lane;");
        let said = fault(&FIRST, &cut, Input::Uniform);
        assert!(said.contains("right partial sum, but loses precision"), "{said}");
        assert!(said.contains("within 1000 times of what the plan's additions in f32 round"));
        assert!(!said.contains("which elements its threads load"), "{said}");
        // Half of an element in each sum is no loss of precision.
        let half = with("fma.rn.f32 %sum, %x, 0fBF000000, %sum;");
        let said = fault(&FIRST, &half, Input::Uniform);
        assert!(said.contains("which elements its threads load"), "{said}");
        // A small error is no loss of precision if the sum of exact elements is wrong too.
        let more = with("add.f32 %sum, %sum, 0f38000000;");
        let said = fault(&FIRST, &more, Input::Uniform);
        assert!(said.contains("which elements its threads load"), "{said}");
        assert_eq!(fault(&FIRST, played::TURNING, Input::Uniform), "");
    }

    #[test]
    fn a_variable_that_an_earlier_launch_wrote_is_the_cause() {
        let text = played::TURNING
            .replace(".visible", ".global .align 4 .f32 kept;\n.visible")
            .replace("mov.f32 %sum, 0f00000000;", "ld.global.f32 %sum, [kept];")
            .replace("done:", "done:\n    st.global.f32 [kept], %sum;");
        let said = fault(&TWICE, &text, Input::Ones);
        assert!(said.starts_with("twice is wrong: "), "{said}");
        assert!(
            said.contains(
                "a launch reads what an earlier launch left in the kernel's own variables"
            ),
            "{said}"
        );
        assert!(!said.contains("which elements its threads load"), "{said}");
        // Another error remains if the variables are reset.
        let said = fault(&TWICE, &text.replace("[%out], %sum", "[%out], 0f41000000"), Input::Ones);
        assert!(said.contains("which elements its threads load"), "{said}");
    }
}
