//! Runs a newly compiled kernel with the other element types, because a step adds elements of three
//! types. A kernel may use more bits of a value than the requested type has, or fewer.

use std::path::Path;

use super::extra::{ALL_RUNS, Asked, Extra, TILES};
use crate::{
    Element, Result,
    device::{Ptx, ptx},
    sum::{Input, Mismatch, Run, Scalar},
};

const CURE: &str = "a step adds f32, i32 and f64: if the cause is a fixed type, write `Element` instead, or refuse the other types with a `static_assert`";

/// Compiles the kernel for the other element types, and runs it on elements of these types. Returns a
/// description of the fault, if there is one.
pub(super) fn wrong_in_other_types<T: Scalar>(
    asked: Asked<'_, T>,
) -> Result<Option<Box<Mismatch>>> {
    // Committed PTX is tested for all types, and other PTX is for one type.
    if asked.values.len() < ALL_RUNS || !asked.ptx.file.ends_with(".cu") {
        return Ok(None);
    }
    for element in Element::ALL.into_iter().filter(|element| *element != T::ELEMENT) {
        let file = Path::new(&asked.ptx.file);
        // A kernel that does not compile for a type is not meant for it.
        let Ok(ptx) = ptx::of(&asked.step.kernel, element, Some(file)) else { continue };
        let wrong = match element {
            Element::F32 => wrong_on::<f32, T>(asked, &ptx),
            Element::I32 => wrong_on::<i32, T>(asked, &ptx),
            Element::F64 => wrong_on::<f64, T>(asked, &ptx),
        }?;
        if wrong.is_some() {
            return Ok(wrong);
        }
    }
    Ok(None)
}

/// Runs a kernel on elements of type `U`.
fn wrong_on<U: Scalar, T: Scalar>(asked: Asked<'_, T>, ptx: &Ptx) -> Result<Option<Box<Mismatch>>> {
    let Asked { step, block, settings, .. } = asked;
    // Sums of any integers wrap.
    let values = Input::Signed.draw::<U>(TILES as u64, 1)?;
    let of_type = Asked { step, ptx, values: &values, block, settings };
    // A vector of 16 bytes is aligned at the first offset, and unaligned at the second.
    let offsets = if step.aligned == 1 { 0..2 } else { 0..1 };
    let mut wrong = None;
    for offset in offsets {
        let extra = Extra { element: Some(U::ELEMENT), offset, ..Extra::of(of_type, TILES) };
        wrong = extra.run(of_type, values.clone())?.and_then(|ran| ran.wrong);
        if wrong.is_some() {
            break;
        }
    }
    let Some(mut wrong) = wrong else { return Ok(None) };
    if let Run::Extra(_) = wrong.run {
        wrong.run = Run::Extra(asked.values.len() as u64);
    }
    let told = wrong.leftover.take().map_or(String::new(), |told| told + "; ");
    wrong.leftover = Some(format!("{told}{CURE}"));
    Ok(Some(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Kernel, Step,
        device::{Choice, Device, Settings},
        plan::Block,
        run::{Samples, played, run},
        sum::Workload,
    };

    /// One thread adds all elements.
    const SUM: &str =
        "extern \"C\" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    if (threadIdx.x > 0) return;
    TYPE sum = 0;
    for (unsigned long long i = 0; i < n; i++) sum += in[i];
    *out = sum;
}
";

    fn said(text: &str) -> Option<String> {
        let name = format!("types-{}-{}.cu", std::process::id(), text.len());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).unwrap();
        let kernel = Kernel {
            path: file.display().to_string().leak(),
            source: "",
            includes: &[],
            ptx: ["", "", ""],
        };
        let step: &'static Step = Box::leak(Box::new(Step {
            kernel,
            ..played::step("types", |problem| played::first_thread(problem, 1))
        }));
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let workload = Workload::<f32>::new(&device, Input::Uniform, ALL_RUNS as u64, 1).unwrap();
        let ptx = ptx::of(&step.kernel, Element::F32, None).unwrap();
        let (block, samples) = (Block::new(64).unwrap(), Samples { count: 0, warm: false });
        let outcome = run(step, &ptx, &device, &workload, block, samples).unwrap();
        std::fs::remove_file(&file).unwrap();
        outcome.fault().map(|fault| fault.to_string())
    }

    #[test]
    fn a_kernel_that_is_right_for_one_type_only_is_wrong() {
        if let Err(missing) = compiler::Compiler::find(None) {
            return eprintln!("skipped: {missing}");
        }
        assert_eq!(said(&SUM.replace("TYPE", "Element")), None);
        let float = said(&SUM.replace("TYPE", "float")).expect("a double does not fit");
        for words in ["the sum of 16390 ", "the elements were of type ", "--type ", CURE] {
            assert!(float.contains(words), "{float}");
        }
        let refuses = SUM.replace(
            "TYPE sum",
            "static_assert((Element)0.5 > 0); static_assert(sizeof(Element) == 4); float sum",
        );
        assert_eq!(said(&refuses), None);
    }
}
