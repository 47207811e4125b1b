//! Checks the rounding of a step whose plan rounds the exact sum once. Random elements almost never
//! have a sum that is halfway between two floats.

use super::extra::{Asked, Extra, LEAST};
use crate::{
    Element, Result,
    plan::Plan,
    sum::{Mismatch, Scalar, Value},
};

/// Runs a step on a few elements whose sums are halfway between two floats, or almost. Returns a
/// description of the fault, if there is one.
pub(super) fn wrong_rounding<T: Scalar>(
    asked: Asked<'_, T>,
    plan: &Plan,
) -> Result<Option<Box<Mismatch>>> {
    if plan.depth() > 0 || T::ELEMENT == Element::I32 || asked.values.len() < LEAST {
        return Ok(None);
    }
    for values in halfway::<T>() {
        let mut extra = Extra::of(asked, values.len());
        extra.elements = Some(format!("the elements were {}", list(&values)));
        if let Some(wrong) = extra.run(asked, values)?.and_then(|ran| ran.wrong) {
            return Ok(Some(wrong));
        }
    }
    Ok(None)
}

/// Returns lists of elements. The distance between two floats is 2 at `large`, and `tiny` is a power
/// of two that decides on which side of the middle a sum is.
fn halfway<T: Scalar>() -> [Vec<T>; 6] {
    let whole = T::whole;
    let (mut large, mut negative) = (T::ONE, whole(-1));
    while large.plus(T::ONE) != large {
        (large, negative) = (large.plus(large), negative.plus(negative));
    }
    // 2^-149, the smallest float, or 2^-40, because the reference has only 106 bits.
    let bits: u64 = if T::ELEMENT == Element::F64 { 983 << 52 } else { 1 };
    let value = |sign: u8| {
        let mut bytes = bits.to_le_bytes();
        let bytes = &mut bytes[..size_of::<T>()];
        bytes[size_of::<T>() - 1] |= sign;
        bytemuck::pod_read_unaligned::<T>(bytes)
    };
    let (tiny, minus) = (value(0), value(0x80));
    [
        vec![large, whole(1)],
        vec![large, whole(3)],
        vec![large, whole(1), tiny],
        vec![large, whole(3), minus],
        vec![tiny, large, whole(-1), large],
        vec![negative, whole(-3)],
    ]
}

fn list<T: Scalar>(values: &[T]) -> String {
    let text = |value: &T| match value.value() {
        Value::Float(small) if small != 0.0 && small.abs() < 1e-3 => format!("{small:e}"),
        value => value.to_string(),
    };
    values.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        Step,
        device::{Choice, Device, Settings},
        plan::{Block, Problem},
        run::played,
    };

    static ONCE: Step = played::step("once", |problem| rounding(problem, 0));
    static OFTEN: Step = played::step("often", |problem| rounding(problem, 1));

    pub(in crate::run) fn rounding(problem: &Problem, depth: u32) -> Plan {
        let mut plan = played::first_thread(problem, 1);
        plan.launches[0].stages[0].depth = depth;
        plan
    }

    /// A thread that adds the elements one after another rounds each addition.
    #[test]
    fn a_plan_that_promises_one_rounding_is_held_to_it() {
        let wrong = |step: &'static Step| {
            let settings = &Settings::default();
            let (ptx, block) = (&played::ptx(played::TURNING), Block::new(64).unwrap());
            let values = &[1.0f32; LEAST][..];
            let device = Device::open(Choice::Simt, settings).unwrap();
            let plan = (step.plan)(&device.problem(LEAST as u64, block, Element::F32));
            let asked = Asked { step, ptx, values, block, settings, other_type: false };
            wrong_rounding(asked, &plan).unwrap().map(|wrong| wrong.to_string())
        };
        let said = wrong(&ONCE).expect("it rounds twice");
        for words in [
            "the sum of 3 f32 in blocks of 64 is 16777217, which rounds to 16777218, but the kernel gave 16777216",
            "the elements were 16777216, 1, ",
        ] {
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(wrong(&OFTEN), None);
    }

    #[test]
    fn the_elements_are_floats_beside_which_the_distance_is_two() {
        let [even, odd, above, below, ..] = halfway::<f32>();
        let [large, tiny] = [16_777_216.0, f32::from_bits(1)];
        assert_eq!((even, odd), (vec![large, 1.0], vec![large, 3.0]));
        assert_eq!((above, below), (vec![large, 1.0, tiny], vec![large, 3.0, -tiny]));
        let doubles = &halfway::<f64>()[2];
        assert_eq!(list(doubles), "9007199254740992, 1, 9.094947017729282e-13");
    }
}
