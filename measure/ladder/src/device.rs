//! Implements `ladder device`, which prints the device's properties and marks the limits that plans
//! use.

use std::io::Write;

use clap::Args;
use common::{
    Result,
    cli::Stop,
    device::{Choice, Device, Settings, properties::properties},
    plan::Chip,
};
use numbers::group;

/// The options of `ladder device`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The device: auto (the GPU if there is one, otherwise the interpreter), cuda, cuda:1, simt
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    device: Choice,

    /// The GPU that the interpreter simulates: sm_70, sm_86, sm_90 or sm_120; append :SMS to change
    /// the number of multiprocessors
    #[arg(long, value_name = "GPU", default_value = "sm_90")]
    gpu: simt::Arch,
}

/// A line of the table: a property, its value, its unit, and how plans use it.
type Line = (&'static str, u64, &'static str, &'static str);

/// Prints the table.
pub fn run(options: &Options) -> Result<(), Stop> {
    let settings = Settings { gpu: options.gpu, ..Settings::default() };
    let device = Device::open(options.device, &settings)?;
    let mut lines = limits(&device.facts().chip);
    if let Device::Cuda(gpu) = &device {
        let plain = |(what, value, unit)| (what, value, unit, "");
        lines.push(("memory", gpu.hardware()?.memory_bytes, "B", ""));
        lines.extend(properties(gpu)?.into_iter().map(plain));
    }
    let mut out = anstream::stdout();
    writeln!(out, "{}", device.facts().line)?;
    write!(out, "{}", table(&lines))?;
    if matches!(device, Device::Simt(_)) {
        writeln!(
            out,
            "  A GPU has more properties; the interpreter simulates only those that plans use."
        )?;
    }
    Ok(())
}

/// Returns the properties that plans use. The pattern names every field, so that the compiler
/// reports a new field that is missing here.
fn limits(chip: &Chip) -> Vec<Line> {
    let Chip { sms, threads, blocks, shared, shared_block, cluster } = *chip;
    let number = u64::from;
    vec![
        (
            "multiprocessors",
            number(sms),
            "",
            "grids that fill the device have this many blocks, or a small multiple",
        ),
        (
            "maximum threads per multiprocessor",
            number(threads),
            "",
            "limits resident blocks; a larger block is refused",
        ),
        ("maximum blocks per multiprocessor", number(blocks), "", "limits resident blocks"),
        ("shared memory per multiprocessor", number(shared), "B", "limits resident blocks"),
        (
            "maximum shared memory per block",
            number(shared_block),
            "B",
            "a block that needs more is refused",
        ),
        ("maximum blocks per cluster", number(cluster), "", "a larger cluster is refused"),
    ]
}

fn table(lines: &[Line]) -> String {
    let value = |&(_, value, unit, _): &Line| match (unit, value) {
        ("yes/no", 0) => "no".to_owned(),
        ("yes/no", _) => "yes".to_owned(),
        (unit, value) => format!("{} {unit}", group(value)).trim_end().to_owned(),
    };
    let width = |text: &str| text.chars().count();
    let first = lines.iter().map(|line| width(line.0)).max().unwrap_or_default();
    let second = lines.iter().map(|line| width(&value(line))).max().unwrap_or_default();
    let line = |line: &Line| {
        let mark = if line.3.is_empty() { ' ' } else { '*' };
        let text = format!("{mark} {:first$}  {:>second$}  {}", line.0, value(line), line.3);
        text.trim_end().to_owned() + "\n"
    };
    let marked = "* a limit that plans use\n";
    lines.iter().map(line).chain([marked.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_plans_are_marked() {
        let mut lines = limits(&Chip::H200);
        lines.push(("ECC", 1, "yes/no", ""));
        let table = table(&lines);
        let marked: Vec<&str> = table.lines().filter(|line| line.starts_with('*')).collect();
        assert_eq!(marked.len(), 6 + 1, "{table}");
        assert!(marked[0].starts_with("* multiprocessors ") && marked[0].contains("  132  grids"));
        assert!(marked[4].contains(" 232,448 B  a block that needs more"), "{table}");
        assert!(table.contains("\n  ECC ") && table.contains(" yes\n"), "{table}");
    }
}
