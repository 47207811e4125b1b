//! Implements `ladder compilers`, which compiles every step with two compilers, to find the counts
//! that do not depend on the compiler.

use std::{io::Write, path::PathBuf};

use clap::Args;
use common::{
    Element, Step,
    cli::{self, Stop},
    device::{Check, Choice, Device, Ptx, Settings},
    plan::Size,
    run::{self, Samples},
    sum::{Input, Workload},
};
use compiler::{Clang, Compiler, Kind, Unit, woven};
use numbers::group;

use crate::steps_and_ways;

/// The options of `ladder compilers`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The number of elements that each step adds
    #[arg(long, value_name = "N", default_value = "2^16+13")]
    n: Size,

    /// The clang to use [default: the first one found]
    #[arg(long, value_name = "FILE")]
    clang: Option<PathBuf>,
}

/// The architectures: one that lacks clusters and bulk copies, and one that has them.
const ARCHITECTURES: [u32; 2] = [70, 90];

/// The outcome of running the kernel that a compiler produced: the named counts, and the number of
/// findings.
struct Ran {
    counts: Vec<(&'static str, u64)>,
    findings: usize,
}

/// Compares the compilers, and prints a line for each step and architecture.
pub fn run(options: &Options) -> Result<(), Stop> {
    let nvrtc = Compiler::find(Some(Kind::Nvrtc)).map_err(common::Error::from)?;
    let clang = match &options.clang {
        Some(path) => Clang::open(path).map(Compiler::Clang),
        None => Compiler::find(Some(Kind::Clang)),
    };
    let compilers = [nvrtc, clang.map_err(common::Error::from)?];
    let settings = Settings { checks: Some(Check::ALL.to_vec()), ..Settings::default() };
    let device = Device::open(Choice::Simt, &settings)?;
    let Size(n) = options.n;
    cli::forewarn(&device, n, Element::F32, 4 * steps_and_ways().count());
    let workload = Workload::<f32>::new(&device, Input::Uniform, n, 42)?;
    let [one, other] = &compilers;
    let mut out = anstream::stdout();
    writeln!(out, "{} f32, all checks on: {one} | {other}\n", group(n))?;
    let width = steps_and_ways().map(|step| step.name.len()).max().unwrap_or(0);
    let head = "equal  differ";
    writeln!(out, "{:<width$} {:<6} {:<17} {:<17} {head}", "step", "for", "NVRTC", "clang")?;
    let mut reasons = Vec::new();
    for step in steps_and_ways() {
        let source = whole(step).map_err(common::Error::from)?;
        for asked in ARCHITECTURES {
            let Some(unit) = unit(&source, asked) else { continue };
            let ran =
                compilers.each_ref().map(|compiler| ran(step, &unit, compiler, &workload, &device));
            let words = ran.each_ref().map(|ran| match ran {
                Ok(Ran { findings: 0, .. }) => "verified".to_owned(),
                Ok(Ran { findings, .. }) => format!("{findings} finding(s)"),
                Err(_) => format!("no ({})", reasons.len() + 1),
            });
            let counts = match &ran {
                [Ok(one), Ok(other)] => compared(&one.counts, &other.counts),
                _ => String::new(),
            };
            let target = format!("sm_{asked}");
            let line = format!(
                "{:<width$} {target:<6} {:<17} {:<17} {counts}",
                step.name, words[0], words[1]
            );
            writeln!(out, "{}", line.trim_end())?;
            reasons.extend(ran.into_iter().filter_map(Result::err));
        }
    }
    for (index, reason) in reasons.iter().enumerate() {
        writeln!(out, "\n({}) {reason}", index + 1)?;
    }
    Ok(())
}

/// Returns a step's kernel, together with all files that it includes.
fn whole(step: &Step) -> compiler::Result<String> {
    let find = |name: &str| step.kernel.included(name).map(str::to_owned);
    woven(step.kernel.source, step.name, find)
}

/// Compiles a kernel for an architecture; returns `None` if the kernel needs a newer architecture.
fn unit(source: &str, architecture: u32) -> Option<Unit<'_>> {
    let unit = Unit::of_kernel(source, "kernel.cu", Element::F32.cuda_name());
    (unit.architecture <= architecture).then_some(Unit { architecture, ..unit })
}

/// Compiles a step and runs it. The error states why the step could not be compiled or run.
fn ran(
    step: &Step,
    unit: &Unit<'_>,
    compiler: &Compiler,
    workload: &Workload<f32>,
    device: &Device,
) -> Result<Ran, String> {
    let failed = |error: String| format!("{} for sm_{}: {error}", step.name, unit.architecture);
    let text = compiler.compile(unit).map_err(|error| failed(error.to_string()))?;
    let file = format!("the PTX of {compiler}");
    let ptx = Ptx { text, source: String::new(), origin: file.clone(), file };
    let samples = Samples { count: 0, warm: true };
    let outcome = run::run(step, &ptx, device, workload, step.block(None), samples)
        .map_err(|error| failed(error.to_string()))?;
    if let Some(wrong) = outcome.wrong {
        return Err(failed(wrong.to_string()));
    }
    let observed = outcome.observed.ok_or_else(|| failed("nothing was counted".into()))?;
    let counts = observed.counters.total.fields().collect();
    Ok(Ran { counts, findings: observed.findings.len() })
}

/// Formats the number of equal counts, and both values of every count that differs.
fn compared(one: &[(&'static str, u64)], other: &[(&'static str, u64)]) -> String {
    let pairs = || one.iter().zip(other);
    let equal = pairs().filter(|(one, other)| one == other).count();
    let differ = pairs().filter(|(one, other)| one != other);
    let differ: Vec<String> = differ
        .map(|((name, one), (_, other))| format!("{name} {} | {}", group(*one), group(*other)))
        .collect();
    format!("{:>2}/{}  {}", equal, one.len(), differ.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_differ_are_named_with_both_values() {
        let one = [("warp_insts", 1234), ("barriers", 9), ("shuffles", 0)];
        let other = [("warp_insts", 1233), ("barriers", 9), ("shuffles", 1)];
        assert_eq!(compared(&one, &one), " 3/3  ");
        assert_eq!(compared(&one, &other), " 1/3  warp_insts 1,234 | 1,233, shuffles 0 | 1");
    }

    #[test]
    fn a_step_is_not_compiled_below_its_required_architecture() {
        let of = |name: &str| steps_and_ways().find(|step| step.name == name).unwrap();
        let v3 = whole(of("v3-first-add")).unwrap();
        assert_eq!(unit(&v3, 70).map(|unit| unit.architecture), Some(70));
        let needing = steps_and_ways().find(|step| step.kernel.source.contains("compute_90"));
        assert_eq!(unit(&whole(needing.unwrap()).unwrap(), 70), None);
    }

    #[test]
    fn every_kernel_is_compiled_with_its_includes() {
        for step in steps_and_ways() {
            let source = whole(step).unwrap();
            assert_eq!(compiler::includes(&source).count(), 0, "{}", step.name);
        }
    }
}
