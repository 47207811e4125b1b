//! Detects options that cannot be combined, options that have no effect, and runs that will take a
//! long time. These options are refused or reported, never ignored.

use std::{io::Write as _, path::Path};

use super::{Format, Options};
use crate::{Element, Error, Result, Step, device::Device, run::Outcome};

/// Refuses options that cannot be combined, or that no step supports.
pub(super) fn refuse(steps: &[&'static Step], options: &Options) -> Result<()> {
    let usage = |text: String| Err(Error::Usage(text));
    let Options { explain, format, .. } = *options;
    let ladder = steps.len() > 1;
    if explain && format != Format::Table {
        let format = if format == Format::Json { "json" } else { "csv" };
        return usage(format!(
            "`--explain` prints text, but `--format {format}` prints the results of runs: omit one of them"
        ));
    }
    let beside = [
        ("--explain", explain),
        ("--lines", options.lines),
        ("--counters", options.counters),
        ("--profile", options.profile.is_some()),
        ("--trace", options.trace.is_some()),
        ("--format", format != Format::Table),
    ];
    if let Some((flag, _)) =
        beside.into_iter().find(|(_, given)| !options.predict.is_empty() && *given)
    {
        return usage(format!(
            "`--predict` prints predicted times and runs nothing on a device, but `{flag}` applies to a run: omit one of them"
        ));
    }
    let shows = [
        ("--lines", options.lines),
        ("--counters", options.counters),
        ("--profile", options.profile.is_some()),
        ("--trace", options.trace.is_some()),
    ];
    if let Some((flag, _)) = shows.into_iter().find(|(_, given)| explain && *given) {
        return usage(format!(
            "`--explain` runs nothing, but `{flag}` shows a run: omit one of them"
        ));
    }
    if !explain && ladder && options.kernel.is_some() {
        return usage("`--kernel` replaces the kernel of one step, but the ladder has several: use it with a single step".into());
    }
    if ladder && (options.lines || options.trace.is_some() || options.counters) {
        return usage("`--lines`, `--counters` and `--trace` show one kernel, but the ladder has several: use them with a single step".into());
    }
    if options.counters && format == Format::Csv {
        return usage("`--counters` has a row for each launch, but `--format csv` has a row for each sum: use `--format json`, or `ladder counters --from cupti`".into());
    }
    for &block in &options.threads {
        if ladder && !steps.iter().any(|step| step.check_block(block).is_ok()) {
            let mut own: Vec<u32> = steps.iter().flat_map(|step| step.blocks).copied().collect();
            own.sort_unstable();
            own.dedup();
            let own: Vec<String> = own.iter().map(u32::to_string).collect();
            return usage(format!(
                "none of these {} kernels runs in blocks of {} threads: choose a supported size ({}), or omit `--threads`",
                steps.len(),
                block.threads(),
                own.join(", ")
            ));
        }
    }
    Ok(())
}

/// Returns a note on options that were given on the command line but have no effect on this device;
/// `None` if there are none.
pub(super) fn without_effect(options: &Options, device: &Device) -> Option<String> {
    let (only_other, why) = match device {
        Device::Simt(_) => {
            (&["samples", "warm"][..], "in the interpreter, which measures no times")
        }
        Device::Cuda(_) => (
            &["schedule", "gpu", "budget", "check", "lines", "trace"][..],
            "on a GPU: use `--device simt`",
        ),
    };
    let given = |name: &&&str| options.given.iter().any(|given| given == **name);
    let flags: Vec<String> =
        only_other.iter().filter(given).map(|name| format!("`--{name}`")).collect();
    let verb = if flags.len() == 1 { "has" } else { "have" };
    (!flags.is_empty()).then(|| format!("note: {} {verb} no effect {why}", flags.join(" and ")))
}

/// Lists the steps that ran with a block size other than the requested one, as a line below their
/// table.
pub(super) fn own_blocks(outcomes: &[Outcome], options: &Options) -> String {
    let asked = |threads| options.threads.iter().any(|block| block.threads() == threads);
    let others = outcomes.iter().filter(|outcome| !asked(outcome.threads));
    let others: Vec<String> =
        others.map(|outcome| format!("{} in {}", outcome.step, outcome.threads)).collect();
    match others.is_empty() || options.threads.is_empty() {
        true => String::new(),
        false => super::report::line(
            "blocks",
            &format!("{}: these kernels have a fixed block size", others.join(", ")),
        ),
    }
}

/// The number of elements that the interpreter adds per second without checks, as measured on two
/// cores.
const RATE: f64 = 1.5e6;

/// Prints a note before a run in the interpreter that will take more than ten seconds or use more
/// than a gigabyte of memory.
pub fn forewarn(device: &Device, n: u64, element: Element, kernels: usize) {
    if matches!(device, Device::Simt(_))
        && let Some(note) = long(n, element, kernels)
    {
        // If standard error is closed, the note is lost.
        let _ = writeln!(anstream::stderr(), "{}", numbers::wrapped(&note, super::columns()));
    }
}

/// Returns the note on a run with this many elements and kernels, if the run takes a long time or
/// uses a lot of memory.
fn long(n: u64, element: Element, kernels: usize) -> Option<String> {
    // The elements are stored twice, on the host and on the device.
    let bytes = 2.0 * n as f64 * element.size() as f64;
    let seconds = n as f64 * kernels as f64 / RATE;
    if seconds <= 10.0 && bytes <= 1e9 {
        return None;
    }
    let time = match seconds {
        ..120.0 => format!("{seconds:.0} seconds"),
        120.0..7200.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.0} hours", seconds / 3600.0),
    };
    let kernels = if kernels == 1 { "one kernel".into() } else { format!("{kernels} kernels") };
    Some(format!(
        "note: {} {element} in {kernels} take about {time} in the interpreter, and {:.1} GB of memory; `--n 2^20` takes a second for each kernel",
        numbers::size(n),
        bytes / 1e9
    ))
}

/// Adds the name of the kernel's file to an error, because a table of several kernels shows the
/// names of rows instead of files.
pub(super) fn with_file(error: Error, steps: &[&'static Step], outcome: &Outcome) -> Error {
    let step = steps.iter().find(|step| step.name == outcome.step);
    let named = |step: &&&'static Step| steps.len() > 1 && !step.kernel.path.is_empty();
    let Some(step) = step.filter(named) else { return error };
    let file = file(step);
    match error {
        Error::Wrong(text) => Error::Wrong(format!("{text} (the kernel is {file})")),
        Error::Findings(text) => Error::Findings(format!("{text} (the kernel is {file})")),
        Error::Trap(text) => Error::Trap(format!("{text} (the kernel is {file})")),
        other => other,
    }
}

/// Returns the path of a kernel's file, relative to the root of the workspace.
fn file(step: &Step) -> String {
    let parts: Vec<&str> = step.kernel.path.split(['/', '\\']).collect();
    parts[parts.len().saturating_sub(4)..].join("/")
}

/// Returns whether the kernels are files in one folder, as in a study. In that case, rows are not
/// named after folders.
pub(super) fn share_files(steps: &[&'static Step]) -> bool {
    let folder = |step: &Step| Path::new(step.kernel.path).parent().map(Path::to_owned);
    let first = folder(steps[0]);
    first.as_ref().is_some_and(|folder| !folder.as_os_str().is_empty())
        && steps.iter().all(|step| folder(step) == first)
}

/// Lists the kernel file of each row of a study, in one list below all tables.
pub(super) fn files(steps: &[&'static Step]) -> String {
    let mut files: Vec<(String, Vec<&str>)> = Vec::new();
    for step in steps {
        let file = file(step);
        match files.iter_mut().find(|(known, _)| *known == file) {
            Some((_, names)) => names.push(step.name),
            None => files.push((file, vec![step.name])),
        }
    }
    let folder = |file: &str| file.rsplit_once('/').map_or(String::new(), |(at, _)| at.to_owned());
    let first = files.first().map_or(String::new(), |(file, _)| folder(file));
    let line = |(file, names): &(String, Vec<&str>)| {
        let name = file.rsplit('/').next().unwrap_or(file);
        format!("{name}: {}", names.join(", "))
    };
    let all: Vec<String> = files.iter().map(line).collect();
    "\n".to_owned() + &super::report::line("kernels", &format!("in {first}: {}", all.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_announced_and_a_short_one_is_not() {
        assert_eq!(long(1 << 20, Element::F64, 13), None);
        assert_eq!(
            long(1 << 30, Element::F32, 1).unwrap(),
            "note: 2^30 f32 in one kernel take about 12 minutes in the interpreter, and 8.6 GB of memory; `--n 2^20` takes a second for each kernel"
        );
        assert!(long(1 << 22, Element::F32, 13).unwrap().contains("36 seconds"));
        assert!(long(1 << 34, Element::I32, 13).unwrap().contains("41 hours"));
    }
}
