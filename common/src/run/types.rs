//! Runs a newly compiled kernel with the other element types, because a step adds elements of three
//! types. A kernel may use more bits of a value than the requested type has, or fewer.

use std::path::Path;

use super::{
    beyond::first,
    extra::{ALL_RUNS, Asked, Extra, FOUND, TILES, wrong_elsewhere},
    extremes::wrong_on_extremes,
    orders::wrong_in_other_orders,
    rounding::wrong_rounding,
    special::wrong_on_specials,
};
use crate::{
    Element, Result,
    device::{Choice, Device, Ptx, ptx},
    sum::{Input, Mismatch, Run, Scalar},
};

/// The number of elements of most runs. A sum of as many elements has several chunks.
const SHORT: usize = 8_203;

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
    let tiles = Asked { step, ptx, values: &values, block, settings, other_type: true };
    // Of the other runs, only the shorter ones.
    let short = Asked { values: &values[..SHORT], ..tiles };
    let plan = (step.plan)(&Device::open(Choice::Simt, settings)?.problem(
        SHORT as u64,
        block,
        U::ELEMENT,
    ));
    let faults: &[&dyn Fn() -> Result<Option<Box<Mismatch>>>] = &[
        &|| wrong_at(tiles, 0),
        // A vector of 16 bytes is unaligned at this offset.
        &|| if step.aligned == 1 { wrong_at(tiles, 1) } else { Ok(None) },
        &|| wrong_elsewhere(short),
        &|| wrong_on_extremes(short),
        &|| wrong_on_specials(short, &plan),
        &|| wrong_rounding(short, &plan),
        &|| wrong_in_other_orders(short, &plan),
    ];
    let Some(mut wrong) = first(faults)? else { return Ok(None) };
    if let Run::Extra(_) = wrong.run {
        wrong.run = Run::Extra(asked.values.len() as u64);
    }
    let told = wrong.leftover.take().unwrap_or_default();
    // The checks have found the cause.
    let cure = if told.contains(FOUND) { String::new() } else { format!("; {CURE}") };
    wrong.leftover = Some(told + &cure);
    Ok(Some(wrong))
}

/// Runs a kernel at an offset. Returns a description of the fault, if there is one.
fn wrong_at<T: Scalar>(asked: Asked<'_, T>, offset: u64) -> Result<Option<Box<Mismatch>>> {
    let extra = Extra { offset, ..Extra::of(asked, asked.values.len()) };
    Ok(extra.run(asked, asked.values.to_vec())?.and_then(|ran| ran.wrong))
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
