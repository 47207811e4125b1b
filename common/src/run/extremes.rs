//! Runs a step on very large and on very small elements, because a kernel may clamp large values,
//! overflow, or replace small ones by zero.

use super::extra::{Asked, Extra, LEAST};
use crate::{
    Element, Result,
    sum::{Mismatch, Scalar},
};

/// The maximum number of elements. Their sum is finite, and the sum of the small ones is subnormal.
const MOST: usize = 5003;

/// Runs a step on its first elements multiplied by a large power of two, on the largest float, and on
/// subnormal elements.
/// Returns a description of the fault, if there is one.
pub(super) fn wrong_on_extremes<T: Scalar>(asked: Asked<'_, T>) -> Result<Option<Box<Mismatch>>> {
    if T::ELEMENT == Element::I32 || asked.values.len() < LEAST {
        return Ok(None);
    }
    let (power, step) = if T::ELEMENT == Element::F64 { (900, 900 << 52) } else { (96, 96 << 23) };
    let large = |bits: u64| if bits << 1 == 0 { bits } else { bits + step };
    let small = |bits: u64| bits & 0x3ff;
    let all = |change: &dyn Fn(u64) -> u64| -> Vec<T> {
        asked.values.iter().take(MOST).map(|value| changed(*value, change)).collect()
    };
    let mut largest = all(&|_| 0);
    let place = largest.len() / 3;
    let bits =
        if T::ELEMENT == Element::F64 { f64::MAX.to_bits() } else { f32::MAX.to_bits().into() };
    largest[place] = changed(T::ZERO, |_| bits);
    // An `atomicAdd` of floats in global memory replaces subnormal numbers by zero.
    let atomics = asked.ptx.text.lines().filter(|l| l.contains("atom.") || l.contains("red."));
    let flushes = |line: &str| line.contains(".add.f32") && !line.contains(".shared");
    let flushes = atomics.into_iter().any(flushes);
    let mut kinds = vec![
        (format!("the elements were multiplied by 2^{power}"), all(&large)),
        ("one element was the largest float, and the others were 0".into(), largest),
    ];
    if !flushes {
        kinds.push(("the elements were subnormal".into(), all(&small)));
    }
    // On one multiprocessor, a thread adds more elements one after another.
    let gpus = [asked.settings.gpu, asked.settings.gpu.with_sms(1)];
    let runs = gpus.into_iter().flat_map(|gpu| kinds.iter().cloned().map(move |kind| (gpu, kind)));
    for (gpu, (elements, values)) in runs {
        let extra = Extra { gpu, elements: Some(elements), ..Extra::of(asked, values.len()) };
        if let Some(wrong) = extra.run(asked, values)?.and_then(|ran| ran.wrong) {
            return Ok(Some(wrong));
        }
    }
    Ok(None)
}

/// Returns an element whose bits are changed.
fn changed<T: Scalar>(value: T, change: impl Fn(u64) -> u64) -> T {
    let mut bytes = [0; 8];
    bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    let bits = change(u64::from_le_bytes(bytes));
    bytemuck::pod_read_unaligned(&bits.to_le_bytes()[..size_of::<T>()])
}

#[cfg(test)]
mod tests {
    use crate::{
        Step,
        device::{Choice, Device, Settings},
        plan::{Arg, Block, Buffer, Scratch},
        run::{Samples, played, run},
        sum::{Input, Workload},
    };

    static STEP: Step = played::step("extremes", |problem| played::first_thread(problem, 1));

    static COUNTS: Step = played::step("counts", |problem| {
        let mut plan = played::first_thread(problem, 1);
        plan.launches[0].args.push(Arg::Address(Buffer::Scratch(0)));
        plan.scratch.push(Scratch::Zeroed(4));
        plan
    });

    fn said(text: &str) -> Option<String> {
        said_of(&STEP, text)
    }

    fn said_of(step: &'static Step, text: &str) -> Option<String> {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let workload = Workload::<f32>::new(&device, Input::Signed, 3000, 1).unwrap();
        let (block, samples) = (Block::new(64).unwrap(), Samples { count: 0, warm: false });
        let outcome = run(step, &played::ptx(text), &device, &workload, block, samples).unwrap();
        outcome.fault().map(|fault| fault.to_string())
    }

    /// The kernel counts sums above 2^64 in memory that it does not reset.
    #[test]
    fn state_that_only_large_elements_leave_is_found() {
        let counts = played::TURNING
            .replace(".param .u64 n)", ".param .u64 n, .param .u64 count)")
            .replace("done:", "done:\nld.param.u64 %n, [count];\nsetp.gt.f32 %p, %sum, 0f5F800000;\n@%p st.global.u32 [%n], 1;");
        let said = said_of(&COUNTS, &counts).expect("the count remains");
        for words in [
            "`count` was zero when it began but not when it ended",
            "one element was the largest float",
        ] {
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(said_of(&COUNTS, &counts.replace("[%n], 1", "[%n], 0")), None);
    }

    #[test]
    fn clamped_and_flushed_elements_are_found() {
        assert_eq!(said(played::TURNING), None);
        let load = "ld.global.f32 %x, [%in];";
        let clamps = format!("{load}\nmin.f32 %x, %x, 0f6F000000;");
        let clamps = said(&played::TURNING.replace(load, &clamps)).expect("2^95 is the maximum");
        assert!(clamps.contains("the elements were multiplied by 2^96"), "{clamps}");
        let scales = played::TURNING
            .replace(load, &format!("{load}\nadd.f32 %x, %x, %x;"))
            .replace("st.global.f32", "mul.f32 %sum, %sum, 0f3F000000;\nst.global.f32");
        let scales = said(&scales).expect("twice the largest float is infinite");
        assert!(scales.contains("one element was the largest float"), "{scales}");
        let flushes = played::TURNING.replace("add.f32 %sum", "add.ftz.f32 %sum");
        let flushes = said(&flushes).expect("subnormals count as zero");
        assert!(flushes.contains("the elements were subnormal"), "{flushes}");
    }
}
