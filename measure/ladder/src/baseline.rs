//! Implements `ladder --save-baseline NAME` and `--baseline NAME`, which compare saved kernels with
//! the current ones.
//!
//! A baseline consists of kernels as PTX, without times, because times from another day were
//! measured at a different clock rate. The saved and the current kernels are run alternately.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use common::{
    Element, Error, Result, Step, cli,
    cli::Stop,
    plan::{Block, Size},
    ptx,
    say::Options,
};

use crate::{
    STEPS, compare, counted,
    options::{How, progress},
    own,
    rig::Rig,
};

/// The options for baselines.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Baseline {
    /// Save the current kernels under this name, in target/baselines, and run the ladder
    #[arg(long, value_name = "NAME", value_parser = name, conflicts_with = "baseline")]
    pub(crate) save_baseline: Option<String>,

    /// Compare every step whose kernel has changed with the kernel saved under this name: by
    /// alternating runs on a GPU, or by counts without one
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) baseline: Option<String>,
}

/// Checks the name of a baseline, which is also the name of its folder.
fn name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match text.chars().all(plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "`{text}` is not a valid name for a baseline: use letters and digits, with `-`, `_` and `.` between them"
        )),
    }
}

/// Returns the folder of a baseline. The folder is in the workspace's target folder, or in the
/// current folder if the program was copied to another machine.
fn folder(name: &str) -> PathBuf {
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).filter(|root| root.exists());
    let root = workspace.unwrap_or(Path::new(""));
    root.join("target/baselines").join(name)
}

fn file(folder: &Path, step: &Step, element: Element) -> PathBuf {
    folder.join(format!("{}.{element}.ptx", step.name))
}

fn today(step: &Step, element: Element, options: &Options) -> Result<String> {
    ptx::by(options.compiler, &step.kernel, element, None).map(|ptx| ptx.text)
}

/// Saves the kernels for the requested types.
pub(crate) fn save(name: &str, options: &Options) -> Result<()> {
    let folder = folder(name);
    let written = |path: &Path, result: io::Result<()>| {
        result
            .map_err(|source| Error::File { doing: format!("writing {}", path.display()), source })
    };
    written(&folder, fs::create_dir_all(&folder))?;
    for &element in &options.element {
        for step in STEPS {
            let path = file(&folder, step, element);
            written(&path, fs::write(&path, today(step, element, options)?))?;
        }
    }
    progress(&format!(
        "saved {} kernels: to compare with them, run `ladder --baseline {name}`",
        STEPS.len()
    ));
    Ok(())
}

/// Compares each kernel that has changed with its saved form.
pub(crate) fn against(name: &str, options: &Options) -> Result<(), Stop> {
    let device = compare::open(options.device)?;
    let mut all = Vec::new();
    for &element in &options.element {
        let changed = changed(&folder(name), name, element, options)?;
        let (same, of) = (STEPS.len() - changed.len(), STEPS.len());
        progress(&format!("{same} of {of} kernels for {element} are the same as in {name}"));
        all.push((element, changed));
    }
    all.retain(|(_, changed)| !changed.is_empty());
    let counted = device.gpu().is_err();
    let sizes: Vec<u64> = match &options.n {
        Some(sizes) => sizes.iter().map(|&Size(n)| n).collect(),
        None if counted => compare::COUNTED.to_vec(),
        None => compare::SIZES.to_vec(),
    };
    let how = |element| How {
        element: vec![element],
        threads: options.threads.first().copied().unwrap_or(Block::USUAL),
        warm: options.warm,
        seconds: 10.0,
    };
    if counted {
        let mut each = all.iter();
        return each
            .try_for_each(|(of, changed)| counted::pairs(&device, changed, &sizes, &how(*of)));
    }
    let mut rig = Rig::on(device, None)?;
    for (element, changed) in all {
        rig.own = changed.iter().map(|pair| pair.0).collect();
        let names: Vec<_> = changed.iter().map(|pair| (pair.0.name, pair.1.name)).collect();
        compare::timed(&rig, &names, &sizes, &how(element))?;
    }
    Ok(())
}

/// Returns the steps whose kernels have changed, each with its old and its new kernel.
fn changed(
    folder: &Path,
    name: &str,
    element: Element,
    options: &Options,
) -> Result<Vec<(&'static Step, &'static Step)>> {
    let mut changed = Vec::new();
    for step in STEPS {
        let path = file(folder, step, element);
        let kept = compiler::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::Usage(format!(
                "the baseline `{name}` has no kernel of {} for {element} ({} does not exist): save it with `ladder --save-baseline {name} --type {element}` before the change",
                step.name,
                path.display()
            )),
            _ => Error::File { doing: format!("reading {}", path.display()), source: error },
        })?;
        if kept != today(step, element, options)? {
            let old = own::with_kernel(step, &format!("{}@{name}", step.name), &path);
            changed.push((old, step));
        }
    }
    Ok(changed)
}

/// Runs the ladder, and saves a baseline first if one is requested; or compares with a baseline.
pub(crate) fn run(baseline: &Baseline, matches: &clap::ArgMatches) -> std::process::ExitCode {
    let options = match cli::options(matches) {
        Ok(options) => options,
        Err(error) => return cli::refused(&error),
    };
    if let Some(name) = &baseline.baseline {
        return cli::exit(against(name, &options));
    }
    if let Some(name) = &baseline.save_baseline
        && let Err(error) = save(name, &options)
    {
        return cli::exit(Err(error.into()));
    }
    cli::ladder(&options, &STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_valid_folder_name() {
        for good in ["yesterday", "2026-11-22", "v3_a.b"] {
            assert_eq!(name(good).as_deref(), Ok(good));
        }
        for bad in ["", "..", ".", "-a", "a/b", "a\\b", "ü"] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}
