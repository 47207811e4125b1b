//! Launches a step many times, because a counter that a launch does not reset may break only a later
//! launch.

use super::extra::{Asked, Extra, LEAST};
use crate::{
    Result,
    plan::Plan,
    sum::{Mismatch, Scalar},
};

/// The number of launches.
const LAUNCHES: usize = 10;

/// The number of elements. A launch on them is fast, because it has one block.
const FEW: i8 = 33;

/// Launches a step many times on the same elements, if a launch can leave state for the next one.
/// Returns a description of the fault, if there is one.
pub(super) fn wrong_in_later_launches<T: Scalar>(
    asked: Asked<'_, T>,
    plan: &Plan,
) -> Result<Option<Box<Mismatch>>> {
    let variables = asked.ptx.text.lines().any(|line| {
        let line = line.trim_start().trim_start_matches(".visible ");
        line.starts_with(".global ")
    });
    if asked.values.len() < LEAST || !(variables || plan.communicates()) {
        return Ok(None);
    }
    let extra = Extra::of(asked, FEW as usize);
    let elements = vec![T::ONE; FEW as usize];
    let Some((problem, totals)) = extra.totals(asked, elements, LAUNCHES)? else {
        return Ok(None);
    };
    let expected = T::whole(FEW);
    let wrong = totals.into_iter().enumerate().find(|(_, total)| *total != expected);
    Ok(wrong.map(|(index, total)| {
        let cause = format!(
            "this was launch {} of {LAUNCHES} on the same elements, and the earlier ones were right: let each launch leave its counters, flags and `__device__` variables as it found them",
            index + 1
        );
        extra.other_total(asked, &problem, (total, expected), &cause)
    }))
}

#[cfg(test)]
mod tests {
    use crate::{
        Step,
        device::{Choice, Device, Settings},
        plan::Block,
        run::{Samples, played, run},
        sum::{Input, Workload},
    };

    static STEP: Step = played::step("often", |problem| played::first_thread(problem, 1));

    /// The kernel counts its launches, and fails in the one that reaches a limit.
    #[test]
    fn a_counter_that_breaks_a_later_launch_is_found() {
        let said = |limit: u32| {
            let count = format!(
                "ld.global.u32 %lane, [count];\nadd.u32 %lane, %lane, 1;\nst.global.u32 [count], %lane;\n\
                 setp.ge.u32 %p, %lane, {limit};\n@%p mov.f32 %sum, 0f00000000;\n"
            );
            let text = played::TURNING
                .replace(".visible", ".global .align 4 .u32 count;\n.visible")
                .replace("done:", &format!("done:\n{count}"));
            let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
            let workload = Workload::<f32>::new(&device, Input::Uniform, 3000, 1).unwrap();
            let (block, samples) = (Block::new(64).unwrap(), Samples { count: 0, warm: false });
            let ran = run(&STEP, &played::ptx(text), &device, &workload, block, samples).unwrap();
            ran.fault().map(|fault| fault.to_string())
        };
        assert_eq!(said(1_000_000), None);
        let said = said(9).expect("launch 9 fails");
        for words in ["is 33, but the kernel gave 0", "launch 9 of 10 on the same elements"] {
            assert!(said.contains(words), "{said}");
        }
    }
}
