//! `ladder accuracy`: the error of each summation method, on benign data and on data with
//! cancellation.

use std::io::Write;

use clap::Args;
use common::{
    Element, Error, Result, Step,
    cli::{self, Stop},
    device::{Choice, Device, Settings},
    plan::Size,
    ptx,
    run::{self, Samples},
    sum::{Input, Scalar, Verdict, Workload},
};

use crate::{cell::SEED, steps_and_ways};

/// Options of `ladder accuracy`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The number of elements, at least 2
    #[arg(long, value_name = "N", default_value = "2^20")]
    pub n: Size,

    /// The device: sums are bit-identical on every device, except those of v8, which depend on the
    /// size of its grid
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    pub device: Choice,
}

/// The summation methods that are compared. Each method has a column title and a step.
const WAYS: [(&str, &str); 6] = [
    ("pairs of pairs: v0", "v0-naive"),
    ("one sum per thread, then pairs: v8", "v8-wide-loads"),
    ("the same over chunks: v10", "v10-fixed-tree"),
    ("v10, Kahan", "v10-fixed-tree/kahan"),
    ("v10, Neumaier", "v10-fixed-tree/neumaier"),
    ("v10, f64 accumulators", "v10-fixed-tree/f64"),
];

/// A function that draws an input of a given length.
type Draw = fn(u64) -> Result<Vec<f32>>;

/// The inputs; each is named after the effect that rounding has on its sum.
const INPUTS: [(&str, Draw); 3] = [
    ("uniform", |n| Input::Uniform.draw(n, SEED)),
    ("signed", |n| Input::Signed.draw(n, SEED)),
    ("cancelling", cancelling),
];

/// Prints the table.
pub fn run(options: &Options) -> Result<(), Stop> {
    let device = Device::open(options.device, &Settings::default())?;
    let n = options.n.0;
    if n < 2 {
        let text = format!("{n} elements have no rounding errors to compare: use `--n 2` or more");
        return Err(Error::Usage(text).into());
    }
    cli::forewarn(&device, n, Element::F32, WAYS.len() * INPUTS.len());
    let columns = INPUTS.map(|(_, draw)| column(&device, draw(n)?));
    let columns: Vec<Vec<String>> = columns.into_iter().collect::<Result<_>>()?;
    let names = ["condition number Σ|x| ÷ |Σx|", "one sum in a loop, on the CPU"];
    let names = names.into_iter().chain(WAYS.map(|(name, _)| name));
    let mut out = anstream::stdout();
    let row = |name: &str, cells: [&str; 3]| {
        format!("{name:<37}{:>12}{:>12}{:>12}", cells[0], cells[1], cells[2])
    };
    writeln!(out, "{}", device.facts().line)?;
    writeln!(out, "{} f32: |error| ÷ |exact sum|\n", numbers::size(n))?;
    writeln!(out, "{}", row("", INPUTS.map(|(name, _)| name)))?;
    for (index, name) in names.enumerate() {
        writeln!(out, "{}", row(name, [0, 1, 2].map(|input| &*columns[input][index])))?;
    }
    Ok(())
}

/// Returns the cells for one input: its condition number, and each method's relative error.
fn column(device: &Device, values: Vec<f32>) -> Result<Vec<String>> {
    let workload = Workload::of_values(device, values)?;
    let sum = workload.reference.float().abs();
    let magnitude: f64 = workload.values.iter().map(|value| f64::from(value.abs())).sum();
    let looped = workload.values.iter().sum::<f32>();
    let looped = looped.distance(&workload.reference);
    let cell = |error: f64| if error == 0.0 { "0".into() } else { format!("{:.1e}", error / sum) };
    let mut cells = vec![format!("{:.1e}", magnitude / sum), cell(looped)];
    for (_, name) in WAYS {
        cells.push(cell(verdict(device, &workload, named(name)?)?.error));
    }
    Ok(cells)
}

/// Returns the verdict on one method's sum.
fn verdict<T: Scalar>(device: &Device, workload: &Workload<T>, step: &Step) -> Result<Verdict> {
    let text = ptx::of(&step.kernel, T::ELEMENT, None)?;
    let samples = Samples { count: 0, warm: true };
    let outcome = run::run(step, &text, device, workload, step.block(None), samples)?;
    outcome.fault().map_or(Ok(outcome.verdict), Err)
}

fn named(name: &str) -> Result<&'static Step> {
    let found = steps_and_ways().find(|step| step.name == name);
    found.ok_or_else(|| Error::Usage(format!("the ladder has no step {name}")))
}

/// Draws floats of both signs, with magnitudes up to 2²⁰. Every float except the first also occurs
/// negated, so the first float is the exact sum. If n is even, the middle float is 0.
fn cancelling(n: u64) -> Result<Vec<f32>> {
    let mut values: Vec<f32> = Input::Signed.draw(n, SEED)?;
    let last = values.len() - 1;
    for place in 1..=last / 2 {
        // The upper bits of multiples of the golden ratio are sufficiently random.
        let exponent = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let value = values[place] * (1 << (exponent % 21)) as f32;
        (values[place], values[last + 1 - place]) = (value, -value);
    }
    if last % 2 == 1 {
        values[last / 2 + 1] = 0.0;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_first_cancel() {
        for n in [2, 3, 64, 1001, 4096] {
            let values = cancelling(n).unwrap();
            let exact: f64 = values.iter().map(|value| f64::from(*value)).sum();
            assert_eq!(exact, f64::from(values[0]), "{n}");
            assert!(values[0] != 0.0 && values.len() as u64 == n);
        }
    }

    #[test]
    fn compensated_sums_are_more_accurate() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let workload = Workload::of_values(&device, cancelling(40_000).unwrap()).unwrap();
        let error = |name| verdict(&device, &workload, named(name).unwrap()).unwrap().error;
        let ulp = f64::from(workload.values[0].abs()) * f64::from(f32::EPSILON);
        let digits = |name| error(name) / f64::from(workload.values[0].abs());
        assert!(digits("v10-fixed-tree") > 0.1);
        assert!(digits("v10-fixed-tree/neumaier") < 1e-4);
        assert!(error("v10-fixed-tree/f64") <= ulp);
    }
}
