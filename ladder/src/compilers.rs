//! `ladder compilers`: every step as two compilers make it, and which counts are the kernel's own.

use std::{io::Write, path::PathBuf};

use clap::Args;
use common::{
    Element, Step,
    cli::Stop,
    device::{Check, Choice, Device, Ptx, Settings},
    plan::{Block, Size},
    run::{self, Samples},
    sum::{Input, Workload},
};
use compiler::{Clang, Compiler, Kind, Unit};
use numbers::group;

use crate::steps_and_ways;

/// What can be asked of the comparison.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How many elements each step adds
    #[arg(long, value_name = "N", default_value = "2^16+13")]
    n: Size,

    /// The clang to take [default: the first that is found]
    #[arg(long, value_name = "FILE")]
    clang: Option<PathBuf>,
}

/// The architectures: before clusters and bulk copies, and with them.
const ARCHITECTURES: [u32; 2] = [70, 90];

/// Columns of the longest name.
const WIDTH: usize = 30;

/// What a compiler's kernel did: the counts by name, and how many findings.
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
    let workload = Workload::<f32>::new(&device, Input::Uniform, n, 42)?;
    let [one, other] = &compilers;
    let mut out = anstream::stdout();
    let blocks = "blocks of 256 or of a step's own size";
    writeln!(out, "{} f32 in {blocks}, all checks on: {one} | {other}\n", group(n))?;
    let head = "equal  differ";
    writeln!(out, "{:<WIDTH$} {:<6} {:<17} {:<17} {head}", "step", "for", "NVRTC", "clang")?;
    let mut reasons = Vec::new();
    for step in steps_and_ways() {
        for asked in ARCHITECTURES {
            let source = source(step).map_err(common::Error::from)?;
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
            let name = step.name;
            let line =
                format!("{name:<WIDTH$} {target:<6} {:<17} {:<17} {counts}", words[0], words[1]);
            writeln!(out, "{}", line.trim_end())?;
            reasons.extend(ran.into_iter().filter_map(Result::err));
        }
    }
    for (index, reason) in reasons.iter().enumerate() {
        writeln!(out, "\n({}) {reason}", index + 1)?;
    }
    Ok(())
}

/// A step's source, with the files that it includes.
fn source(step: &Step) -> compiler::Result<String> {
    let own = |name: &str| step.kernel.included(name).map(str::to_owned);
    compiler::woven(step.kernel.source, step.kernel.path, own)
}

/// A kernel for an architecture; none where it needs a later one.
fn unit(source: &str, architecture: u32) -> Option<Unit<'_>> {
    let unit = Unit::of_kernel(source, "kernel.cu", Element::F32.cuda_name());
    (unit.architecture <= architecture).then_some(Unit { architecture, ..unit })
}

/// Compiles a step and runs it; else why that cannot be.
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
    let block = step.block(Some(Block::USUAL));
    let samples = Samples { count: 0, warm: true };
    let outcome = run::run(step, &ptx, device, workload, block, samples)
        .map_err(|error| failed(error.to_string()))?;
    if let Some(wrong) = outcome.wrong {
        return Err(failed(wrong.to_string()));
    }
    let observed = outcome.observed.ok_or_else(|| failed("nothing was counted".into()))?;
    let counts = observed.counters.total.fields().collect();
    Ok(Ran { counts, findings: observed.findings.len() })
}

/// How many counts are equal, and which are not, with both values.
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
    fn a_step_is_not_compiled_for_less_than_it_needs() {
        let of = |name: &str| steps_and_ways().find(|step| step.name == name).unwrap();
        let any = of("v3-first-add").kernel.source;
        assert_eq!(unit(any, 70).map(|unit| unit.architecture), Some(70));
        let needing = steps_and_ways().find(|step| step.kernel.source.contains("compute_90"));
        assert_eq!(unit(needing.unwrap().kernel.source, 70), None);
    }

    #[test]
    fn what_a_kernel_includes_is_in_it_and_its_name_fits() {
        for step in steps_and_ways() {
            let source = source(step).unwrap();
            assert_eq!(compiler::includes(&source).next(), None, "{}", step.name);
            assert!(step.name.len() <= WIDTH, "{}", step.name);
        }
    }
}
