//! Runs a step on elements whose sum is NaN or infinite, because a kernel may drop NaN, or round a
//! sum that is too large to another float.

use super::extra::{Asked, Extra, LEAST};
use crate::{
    Element, Result,
    device::Ptx,
    plan::Plan,
    sum::{Mismatch, Scalar},
};

/// The maximum number of elements.
const MOST: usize = 5003;

/// Elements, their sum, and a description.
type Special<T> = (Vec<T>, T, &'static str);

/// Runs a step on special elements. Returns a description of the fault, if there is one.
///
/// A step whose additions round must return NaN if an element is NaN, because every addition does so.
/// It must return infinity if some elements are infinite, unless the step's own kernel returns NaN, as
/// compensated summation does: it subtracts infinity from infinity.
/// A step that rounds the exact sum once takes only finite elements, and its sum is infinite if the
/// exact sum overflows.
pub(super) fn wrong_on_specials<T: Scalar>(
    asked: Asked<'_, T>,
    plan: &Plan,
) -> Result<Option<Box<Mismatch>>> {
    if T::ELEMENT == Element::I32 || asked.values.len() < LEAST {
        return Ok(None);
    }
    let specials: Vec<Special<T>> = match plan.depth() {
        0 => overflowing().into_iter().chain(sticky()).collect(),
        _ => [unordered(asked.values)].into_iter().chain(infinite(asked.values)).collect(),
    };
    // On one multiprocessor, a thread adds more elements one after another.
    let gpus = [asked.settings.gpu, asked.settings.gpu.with_sms(1)];
    let runs = gpus.into_iter().flat_map(|gpu| specials.iter().map(move |special| (gpu, special)));
    for (gpu, (values, expected, elements)) in runs {
        let elements = *elements;
        let like = Extra::of(asked, values.len());
        let extra = Extra { gpu, elements: Some(elements.into()), ..like };
        let Some((problem, totals)) = extra.totals(asked, values.clone(), 1)? else { continue };
        // As text, NaN equals NaN.
        let text = |total: &T| total.value().to_string();
        let Some(total) = totals.into_iter().find(|total| text(total) != text(expected)) else {
            continue;
        };
        if elements == INFINITE && text(&total) == "NaN" {
            let own = asked.step.kernel.ptx(T::ELEMENT).to_owned();
            let own = Asked { ptx: &Ptx { text: own, ..asked.ptx.clone() }, ..asked };
            let own = extra.totals(own, values.clone(), 1)?.map(|(_, totals)| totals);
            if own.is_some_and(|totals| totals.iter().any(|total| text(total) == "NaN")) {
                continue;
            }
        }
        return Ok(Some(extra.other_total(asked, &problem, (total, *expected), elements)));
    }
    Ok(None)
}

/// Returns the first elements, one of them replaced by NaN.
fn unordered<T: Scalar>(values: &[T]) -> Special<T> {
    let mut values = values[..values.len().min(MOST)].to_vec();
    let (place, nan) = (values.len() / 3, float(f64::NAN));
    values[place] = nan;
    (values, nan, "one element was NaN, and then the sum is NaN")
}

const INFINITE: &str = "some elements were infinite; infinity times 0, and infinity minus \
                        infinity, is NaN";

/// Returns the first elements, with infinity in the middle, and with infinity at both ends.
fn infinite<T: Scalar>(values: &[T]) -> [Special<T>; 2] {
    let values = &values[..values.len().min(MOST)];
    let (last, infinity) = (values.len() - 1, float(f64::INFINITY));
    [&[last / 3][..], &[0, last]].map(|places| {
        let mut values = values.to_vec();
        places.iter().for_each(|&place| values[place] = infinity);
        (values, infinity, INFINITE)
    })
}

/// Returns finite elements whose exact sums overflow.
fn overflowing<T: Scalar>() -> Vec<Special<T>> {
    let most = if T::ELEMENT == Element::F64 { f64::MAX } else { f32::MAX.into() };
    let power = 2f64.powi(if T::ELEMENT == Element::F64 { 1023 } else { 127 });
    // So many elements carry into one more digit of 32 bits than the largest float has.
    let all = |value| vec![float(value); 2048];
    let mut specials = vec![
        (all(most), float(f64::INFINITY), "all elements were the largest float"),
        (all(-most), float(f64::NEG_INFINITY), "all elements were the lowest float"),
        (all(power), float(f64::INFINITY), "all elements were the largest power of two"),
    ];
    if T::ELEMENT == Element::F32 {
        // Half of the distance to the next power of two decides.
        let half = 2f64.powi(103);
        specials.extend([
            (vec![float(most), float(half)], float(f64::INFINITY), "the sum rounds to infinity"),
            (
                vec![float(most), float(half), float(-1.0)],
                float(most),
                "the sum rounds to the largest float",
            ),
            (
                vec![float(most), float(most), float(-most)],
                float(most),
                "the sum of the first two elements overflows, but the sum of all does not",
            ),
        ]);
    }
    specials
}

/// Returns elements whose sum is a little larger than the middle between two floats. The last element
/// is much smaller than the others, each time by another 32 bits, because a sum of many bits has many
/// words.
fn sticky<T: Scalar>() -> Vec<Special<T>> {
    let (large, bits, least) =
        if T::ELEMENT == Element::F64 { (900, 53, -1074) } else { (104, 24, -149) };
    // In two factors, because the smallest powers are subnormal.
    let power = |exponent: i32| 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
    let half = large - bits;
    let expected = float(power(large) + power(half + 1));
    let text = "the sum is a little larger than the middle between two floats";
    let last = (least..half).step_by(32);
    last.map(|last| {
        (vec![float(power(large)), float(power(half)), float(power(last))], expected, text)
    })
    .collect()
}

/// Converts a float to the element type, which is not an integer.
fn float<T: Scalar>(value: f64) -> T {
    match T::ELEMENT {
        Element::F64 => bytemuck::cast_slice::<f64, T>(&[value])[0],
        _ => bytemuck::cast_slice::<f32, T>(&[value as f32])[0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Kernel, Step,
        device::{Choice, Device, Settings},
        plan::Block,
        run::{played, rounding::tests::rounding},
    };

    static ONCE: Step = played::step("once", |problem| rounding(problem, 0));
    static OFTEN: Step = played::step("often", |problem| rounding(problem, 1));

    fn wrong(step: &'static Step, text: &str) -> Option<String> {
        let settings = &Settings::default();
        let (ptx, block) = (&played::ptx(text), Block::new(64).unwrap());
        let values = &[1.0f32; LEAST][..];
        let device = Device::open(Choice::Simt, settings).unwrap();
        let plan = (step.plan)(&device.problem(LEAST as u64, block, Element::F32));
        let asked = Asked { step, ptx, values, block, settings, other_type: false };
        wrong_on_specials(asked, &plan).unwrap().map(|wrong| wrong.to_string())
    }

    #[test]
    fn a_dropped_nan_is_found() {
        assert_eq!(wrong(&OFTEN, played::TURNING), None);
        let load = "ld.global.f32 %x, [%in];";
        let drops = format!("{load}\ntestp.number.f32 %p, %x;\n@!%p mov.f32 %x, 0f00000000;");
        let said = wrong(&OFTEN, &played::TURNING.replace(load, &drops)).expect("NaN is dropped");
        for words in ["is NaN, but the kernel gave 2047", "one element was NaN"] {
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn an_infinite_element_is_not_multiplied() {
        let end = "done:";
        let masked = format!("{end}\nfma.rn.f32 %sum, %x, 0f00000000, %sum;");
        let said = wrong(&OFTEN, &played::TURNING.replace(end, &masked)).expect("it multiplies");
        for words in ["is inf, but the kernel gave NaN", "some elements were infinite"] {
            assert!(said.contains(words), "{said}");
        }
        let add = "add.f32 %sum, %sum, %x;";
        let clamped =
            format!("setp.eq.f32 %p, %x, 0f7F800000;\n@%p mov.f32 %x, 0f7F7FFFFF;\n{add}");
        let said = wrong(&OFTEN, &played::TURNING.replace(add, &clamped)).expect("it clamps");
        assert!(said.contains("is inf, but the kernel gave 34028"), "{said}");
        let compensated = format!("{add}\nsub.f32 %x, %x, %x;\n{add}");
        let compensated = played::TURNING.replace(add, &compensated);
        let said = wrong(&OFTEN, &compensated).expect("another kernel");
        assert!(said.contains("is inf, but the kernel gave NaN"), "{said}");
        let text: &str = compensated.leak();
        let kernel = Kernel { ptx: [text; 3], ..OFTEN.kernel };
        let step = Box::leak(Box::new(Step { kernel, ..OFTEN }));
        assert_eq!(wrong(step, text), None);
    }

    /// A sum of two words of 53 bits has no word for the last element.
    #[test]
    fn each_word_of_a_sum_counts() {
        let lists = sticky::<f32>();
        assert_eq!(lists.len(), 8);
        for (values, expected, _) in &lists {
            let exact = f32::sum(values);
            assert_eq!(f32::rounded(&exact), *expected, "{values:?}");
            assert_ne!(f32::rounded(&f32::sum(&values[..2])), *expected);
        }
        for (values, expected, _) in sticky::<f64>() {
            assert_eq!(expected.to_bits(), values[0].to_bits() + 1, "{values:?}");
            assert!(values[2] > 0.0, "{values:?}");
        }
    }

    #[test]
    fn a_sum_that_overflows_is_infinite() {
        let said = wrong(&ONCE, played::TURNING).expect("it rounds twice");
        assert!(said.contains("is 340282346638528860000000000000000000000, but"), "{said}");
        assert!(said.contains("the sum rounds to the largest float"), "{said}");
        let store = "st.global.f32";
        let clamps = format!("min.f32 %sum, %sum, 0f7F7FFFFF;\n{store}");
        let said = wrong(&ONCE, &played::TURNING.replace(store, &clamps)).expect("it clamps");
        assert!(said.contains("is inf, but the kernel gave 34028"), "{said}");
        assert!(said.contains("all elements were the largest float"), "{said}");
    }
}
