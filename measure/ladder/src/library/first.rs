//! Measures the time to first result. Each combination of type and operation runs in its own
//! process, without the driver's cache of compiled kernels.

use std::{io::Write, process::Command, time::Instant};

use common::{
    Error,
    cli::Stop,
    device::{Choice, Cuda},
};
use half::{bf16, f16};
use measured::library::{First, first_table};
use reduce::Operation;

use super::{
    cell,
    drawn::Drawn,
    options::{Kind, Options},
};
use crate::{competitors::Borrowed, rig::Rig, stop::file};

/// The number of processes for each type and operation.
const PROCESSES: u32 = 5;

/// The number of elements in the slice, which is so large that the kernels for large sums are used.
const N: u64 = 1 << 20;

/// Measures the times to first result, prints a table, and writes `first.csv`.
pub(super) fn run(rig: &Rig, options: &Options) -> Result<(), Stop> {
    let program = std::env::current_exe().map_err(spawning)?;
    let device = match options.place.device {
        Choice::Cuda(ordinal) => format!("cuda:{ordinal}"),
        _ => "cuda".into(),
    };
    let mut all = Vec::new();
    let asked =
        options.element.iter().flat_map(|kind| options.operation.iter().map(move |o| (kind, o)));
    // The processes run one after the other. The first round is discarded, because the first
    // process on an idle machine is slow.
    for process in 0..=PROCESSES {
        for (place, (kind, operation)) in asked.clone().enumerate() {
            let output = Command::new(&program)
                .args(["library", "--alone", "--device", &device])
                .args(["--type", &word(kind), "--operation", &word(operation)])
                .env("CUDA_CACHE_DISABLE", "1")
                .output()
                .map_err(spawning)?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let figures: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
            let [context, first, second] = figures[..] else {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                let text = format!(
                    "a process that measures the time to first result failed ({}): {said}",
                    output.status
                );
                return Err(Error::Usage(text).into());
            };
            let (element, operation) = (word(kind), word(operation));
            let (context_ms, first_ms, second_ms) = (context, first, second);
            let taken =
                First { process, element, operation, n: N, context_ms, first_ms, second_ms };
            all.push((place, taken));
        }
    }
    all.retain(|(_, taken)| taken.process > 0);
    all.sort_by_key(|(place, _)| *place);
    let all: Vec<First> = all.into_iter().map(|(_, taken)| taken).collect();
    let mut out = anstream::stdout();
    writeln!(out, "{}\n\n{}", rig.device.facts().line, first_table(&all))?;
    if let Some(folder) = &options.out {
        First::write(&folder.join("first.csv"), &all).map_err(file)?;
    }
    Ok(())
}

/// Prints this process's measurements, in milliseconds: the times for the context, for the first
/// result and for the second result.
pub(super) fn alone(options: &Options) -> Result<(), Stop> {
    let ordinal = match options.place.device {
        Choice::Cuda(ordinal) => ordinal,
        _ => 0,
    };
    let started = Instant::now();
    let cuda = Cuda::open(ordinal)?;
    let context = milliseconds(started);
    let operation = Operation::from(options.operation[0]);
    let (first, second) = match options.element[0] {
        Kind::F32 => typed::<f32>(&cuda, operation),
        Kind::F64 => typed::<f64>(&cuda, operation),
        Kind::I32 => typed::<i32>(&cuda, operation),
        Kind::U32 => typed::<u32>(&cuda, operation),
        Kind::I64 => typed::<i64>(&cuda, operation),
        Kind::U64 => typed::<u64>(&cuda, operation),
        Kind::F16 => typed::<f16>(&cuda, operation),
        Kind::Bf16 => typed::<bf16>(&cuda, operation),
    }?;
    writeln!(anstream::stdout(), "{context} {first} {second}")?;
    Ok(())
}

fn typed<T: Drawn>(cuda: &Cuda, operation: Operation) -> common::Result<(f64, f64)> {
    let memory = cuda.alloc("the elements", N * size_of::<T>() as u64)?;
    cuda.fill(&memory, 0)?;
    let stream = cuda.shared_stream();
    let slice = Borrowed::<T>::new(cuda, memory.address(), N)?;
    let answer = || -> common::Result<f64> {
        let started = Instant::now();
        reduce::reduce::<T>(stream, operation, &slice).map_err(cell::failed)?;
        Ok(milliseconds(started))
    };
    Ok((answer()?, answer()?))
}

fn milliseconds(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 1e6).round() / 1e3
}

/// Returns a choice as it is written on the command line.
fn word(choice: &impl clap::ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn spawning(source: std::io::Error) -> Stop {
    Error::File {
        doing: "starting a process that measures the time to first result".into(),
        source,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn a_choice_has_the_form_that_the_next_process_parses() {
        let kinds: Vec<String> = Kind::value_variants().iter().map(word).collect();
        assert_eq!(kinds, ["f32", "f64", "i32", "u32", "i64", "u64", "f16", "bf16"]);
        for name in &kinds {
            assert!(<Kind as ValueEnum>::from_str(name, false).is_ok());
        }
    }

    #[test]
    fn elapsed_time_is_in_milliseconds() {
        let ago = Instant::now() - std::time::Duration::from_millis(1500);
        let found = milliseconds(ago);
        assert!((1500.0..2500.0).contains(&found), "{found}");
        assert_eq!((found * 1e3).round() / 1e3, found, "to the microsecond");
    }
}
