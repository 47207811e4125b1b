//! The command line, which all steps and the ladder share.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{CommandFactory, FromArgMatches};
use once_cell::unsync::OnceCell;

use super::{
    asked, beside, ledger,
    next::{FEWER, next},
    options::{Format, Options},
    predicted,
    profile::Profile,
    progress::Progress,
    record::Record,
    report,
    sizes::Sizes,
};
pub use super::{
    asked::forewarn,
    stop::{Stop, columns, exit},
};
use crate::{
    Element, Error, Result, Step, Study,
    device::{
        Device, Facts,
        cupti::{Fault, counters::Session},
        ptx,
    },
    plan::Problem,
    run::{self, ALL_RUNS, Outcome, Refusal},
    sum::{Scalar, Workload},
};

/// The program that runs one step.
#[derive(clap::Parser, Debug)]
#[command(version)]
struct Program {
    #[command(flatten)]
    options: Options,
}

/// Runs the program of a step.
pub fn run(step: &'static Step) -> ExitCode {
    let about = format!("{}: {}", step.name, step.cures);
    let page = format!(
        "{}\n\nCures:\n  {}\nRemaining cost, which the next step removes:\n  {}\n\n\
         The program draws N elements, plans the launches, runs the kernel in\n\
         steps/{}/src/kernel.cu, compares the sum with the exact sum, and only\n\
         then times it. Change a line of the kernel and run the program again: the\n\
         kernel is compiled on the fly.",
        step.name, step.cures, step.costs, step.name
    );
    let examples = format!(
        "Examples:\n  \
         cargo run -p {0}                              one sum, with its verdict\n  \
         cargo run -p {0} -- --explain --n 2^20        what would be launched\n  \
         cargo run -p {0} -- --n 1,257,3*2^19+77       awkward sizes\n  \
         cargo run -p {0} -- --type i32 --threads 512  another type, larger blocks\n  \
         cargo run -p {0} -- --device simt             the interpreter: counts, not times\n\n\
         The exit code is 0 if the sum is right, 1 if it is wrong, and 2 if it could not be computed.",
        step.name
    );
    let command = Program::command()
        .name(step.name)
        .bin_name(step.name)
        .about(about)
        .long_about(page)
        .after_long_help(examples);
    main(command, &[step], alone)
}

/// Formats the measured runs, for the program of a single step.
fn alone(outcomes: &[Outcome], _: &[Refusal], options: &Options) -> String {
    let show = |outcome| {
        let lines = if options.lines { ledger::lines(outcome) } else { String::new() };
        report::outcome(outcome, options.input, options.seed)
            + &ledger::ledger(outcome)
            + &beside::side_by_side(outcome)
            + &lines
    };
    outcomes.iter().map(show).collect()
}

/// Returns the command line of the ladder, to which the ladder adds its own commands.
pub fn ladder_command() -> clap::Command {
    Program::command()
        .name("ladder")
        .bin_name("ladder")
        .about("Runs every step of the ladder at the same sizes, and prints one table")
        .long_about(
            "Runs every step, in lesson order, on the same elements, and prints one table for each \
             size, type and block size: time, GB/s, fraction of peak bandwidth, and how many times \
             faster each step is than v0 and than the previous step.\n\n\
             The interpreter prints counts instead.",
        )
        .mut_args(hidden)
}

/// Parses the options of the ladder.
pub fn options(matches: &clap::ArgMatches) -> Result<Options, clap::Error> {
    let Program { mut options } = Program::from_arg_matches(matches)?;
    let given = |id: &&clap::Id| {
        matches.value_source(id.as_str()) == Some(clap::parser::ValueSource::CommandLine)
    };
    options.given = matches.ids().filter(given).map(clap::Id::to_string).collect();
    Ok(options)
}

/// Sets the width of the terminal, and lets every option accept `-1` as a value, so that the error
/// message names the invalid number instead of an unknown option.
pub fn numeric(command: clap::Command) -> clap::Command {
    let mut command = command.mut_args(|arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, numeric);
    }
    command
}

/// Runs the program of the whole ladder.
pub fn ladder(options: &Options, steps: &[&'static Step]) -> ExitCode {
    exit(print(steps, options, many, &mut anstream::stdout()))
}

/// Formats the measured runs, for a program that runs many steps.
fn many(outcomes: &[Outcome], refusals: &[Refusal], options: &Options) -> String {
    report::ladder(outcomes, refusals) + &asked::own_blocks(outcomes, options)
}

/// Runs the program of a study, which shows several kernels for the same sum in one table, at the
/// study's sizes.
pub fn study(study: &'static Study) -> ExitCode {
    main(study_command(study), study.ways, many)
}

/// Returns the command line of a study, to which the study may add its own commands.
pub fn study_command(study: &'static Study) -> clap::Command {
    let help = "The number of elements to add: 1048576, 2^20, 3*2^19+77, 1Mi, or a list such as 1,257,2^10..2^18";
    Program::command()
        .name(study.name)
        .bin_name(study.name)
        .about(study.about)
        .mut_arg("n", |arg| arg.default_value(study.sizes).help(help).long_help(help))
        .mut_args(hidden)
        .mut_arg("threads", |arg| {
            arg.hide(
                study
                    .ways
                    .iter()
                    .all(|way| way.blocks == study.ways[0].blocks && way.blocks.len() == 1),
            )
        })
}

/// Hides the options that show a single kernel, because a program with many kernels refuses them.
fn hidden(arg: clap::Arg) -> clap::Arg {
    match arg.get_id().as_str() {
        "kernel" | "lines" | "counters" | "trace" => arg.hide(true),
        _ => arg,
    }
}

/// Prints an error about the command line, or the requested help.
pub fn refused(error: &clap::Error) -> ExitCode {
    // If the pipe is closed, the text is lost.
    let _ = match error.use_stderr() {
        true => {
            let text = numbers::wrapped(&error.render().ansi().to_string(), columns());
            write!(anstream::stderr(), "{text}")
        }
        false => error.print(),
    };
    let words: Vec<String> = std::env::args().collect();
    if let Some(note) = note(error, &words, |variable| std::env::var(variable).ok()) {
        let _ = writeln!(anstream::stderr(), "{note}");
    }
    ExitCode::from(error.exit_code() as u8)
}

/// Returns a note that names an environment variable, if a refused value comes from that variable
/// instead of a flag.
fn note(
    error: &clap::Error,
    words: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let options =
        [("REDUCE_N", "--n"), ("REDUCE_DEVICE", "--device"), ("REDUCE_COMPILER", "--compiler")];
    let (name, option) = options
        .into_iter()
        .find(|(_, option)| error.to_string().contains(&format!("{option} <")))?;
    let written = words.iter().any(|word| word.split('=').next() == Some(option));
    let value = variable(name).filter(|_| !written && error.exit_code() != 0)?;
    Some(format!(
        "note: the value comes from the environment variable {name}, which is `{value}`: change or unset it"
    ))
}

/// Parses the arguments, runs the program, prints the results, and returns the exit code.
fn main(command: clap::Command, steps: &[&'static Step], show: Show) -> ExitCode {
    let parsed = numeric(command).term_width(80).try_get_matches();
    match parsed.and_then(|matches| self::options(&matches)) {
        Ok(options) => exit(print(steps, &options, show, &mut anstream::stdout())),
        Err(error) => refused(&error),
    }
}

/// A function that formats the outcomes for one problem, and the steps that could not run.
type Show = fn(&[Outcome], &[Refusal], &Options) -> String;

/// A function that handles the outcomes for one problem, the steps that could not run, and the
/// reason why the operations of a sum were not counted.
type Done<'d> = dyn FnMut(&[Outcome], &[Refusal], Option<Error>) -> Result<(), Stop> + 'd;

/// Runs all steps on all problems, and prints the outcomes.
fn print(
    steps: &[&'static Step],
    options: &Options,
    show: Show,
    out: &mut impl Write,
) -> Result<(), Stop> {
    asked::refuse(steps, options)?;
    if !options.predict.is_empty() {
        return predicted::print(steps, options, out);
    }
    // The profile starts before the GPU is opened, so that the opening is recorded too.
    let profile = options.profile.as_ref().filter(|_| !options.explain).map(|_| Profile::start());
    let device = Device::open(options.device, &options.settings())?;
    if options.explain {
        return explain(steps, options, device.facts(), out);
    }
    if let Some(note) = asked::without_effect(options, &device) {
        let _ = writeln!(anstream::stderr(), "{note}");
    }
    match options.format {
        Format::Table if steps.len() == 1 => {
            write!(out, "{}", report::head(steps[0], device.facts()))?
        }
        Format::Table => writeln!(out, "{}", device.facts().line)?,
        Format::Csv => write!(out, "{}", Record::csv_header()?)?,
        Format::Json => {}
    }
    let mut wrong = None;
    let mut longest = None;
    let mut traces = Vec::new();
    let mut uncounted = None;
    let mut sizes = Sizes::default();
    each(steps, options, &device, &mut |outcomes, refusals, missing| {
        uncounted = uncounted.take().or(missing);
        match options.format {
            Format::Table => {
                outcomes.iter().for_each(|outcome| sizes.add(outcome));
                write!(out, "{}", show(outcomes, refusals, options))?
            }
            Format::Csv => {
                outcomes.iter().try_for_each(|o| write!(out, "{}", Record::of(o).csv()?))?
            }
            Format::Json => {
                outcomes.iter().try_for_each(|o| write!(out, "{}", Record::of(o).json()?))?
            }
        }
        out.flush()?;
        let fault = |outcome: &Outcome| Some(asked::with_file(outcome.fault()?, steps, outcome));
        wrong = wrong.take().or(outcomes.iter().find_map(fault));
        let interpreted = outcomes.iter().filter(|outcome| outcome.observed.is_some());
        longest = longest.max(interpreted.map(|outcome| outcome.n).max());
        let observed = outcomes.iter().filter_map(|outcome| outcome.observed.as_ref());
        traces.extend(observed.filter_map(|observed| observed.trace.clone()));
        Ok(())
    })?;
    match steps {
        [_] => write!(out, "{}", sizes.table())?,
        _ if options.format == Format::Table && asked::share_files(steps) => {
            write!(out, "{}", asked::files(steps))?
        }
        _ => {}
    }
    if let Some(path) = &options.trace {
        let failed = |source| Error::File { doing: format!("writing {}", path.display()), source };
        let text = serde_json::to_string(&traces).map_err(io::Error::from).map_err(failed)?;
        std::fs::write(path, text).map_err(failed)?;
    }
    if let (Some(profile), Some(file)) = (profile, &options.profile) {
        let told = profile.tell(&device, options.format == Format::Table, file.as_deref(), out);
        match told {
            Ok(()) => {}
            Err(Stop::Error(error)) => uncounted = uncounted.take().or(Some(error)),
            Err(closed) => return Err(closed),
        }
    }
    if let Some(error) = wrong.or(uncounted) {
        return Err(error.into());
    }
    if let (Format::Table, [step]) = (options.format, steps)
        && let Some(line) = next(step, options.kernel.as_deref())
    {
        if options.kernel.is_some() && longest.is_some_and(|n| n < ALL_RUNS as u64) {
            writeln!(out, "\n  {FEWER}")?;
        }
        writeln!(out, "\n  {line}")?;
    }
    Ok(())
}

/// Implements `--explain`, which prints the plans for a device with these properties.
fn explain(
    steps: &[&'static Step],
    options: &Options,
    facts: &Facts,
    out: &mut impl Write,
) -> Result<(), Stop> {
    for &element in &options.element {
        for n in options.sizes(1) {
            for block in options.blocks() {
                for step in steps {
                    let block = options.block(step, block, steps.len())?;
                    let problem = Problem { n, block, element, chip: facts.chip };
                    match (step.plan)(&problem).check(&facts.chip) {
                        Ok(()) => writeln!(out, "{}", report::explain(step, &problem))?,
                        Err(error) if steps.len() > 1 => {
                            let Refusal { step, why, .. } = Refusal::of(step.name, error)?;
                            writeln!(out, "{step}\n{}", report::wrapped("", &why))?;
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
    }
    Ok(())
}

/// Runs all steps on each problem, one after another.
fn each(
    steps: &[&'static Step],
    options: &Options,
    device: &Device,
    done: &mut Done<'_>,
) -> Result<(), Stop> {
    // A large input is useful only for timing.
    let sizes = options.sizes(if device.gpu().is_ok() { 2 } else { 1 });
    let sessions = OnceCell::new();
    for &element in &options.element {
        for &n in &sizes {
            match element {
                Element::F32 => on::<f32>(steps, options, device, &sessions, n, done)?,
                Element::I32 => on::<i32>(steps, options, device, &sessions, n, done)?,
                Element::F64 => on::<f64>(steps, options, device, &sessions, n, done)?,
            }
        }
    }
    Ok(())
}

/// Opens CUPTI for counting. Launches are counted only after the sum is verified and timed.
fn session(device: &Device) -> Result<Session<'static>> {
    match device {
        Device::Cuda(cuda) => Session::open(cuda),
        Device::Simt(_) => Err(Fault::Interpreter { flag: "--counters" }.into()),
    }
}

/// Runs all steps on one input.
fn on<T: Scalar>(
    steps: &[&'static Step],
    options: &Options,
    device: &Device,
    sessions: &OnceCell<Session<'static>>,
    n: u64,
    done: &mut Done<'_>,
) -> Result<(), Stop> {
    let kernels = steps
        .iter()
        .map(|step| ptx::by(options.compiler, &step.kernel, T::ELEMENT, options.kernel.as_deref()))
        .collect::<Result<Vec<_>>>()?;
    asked::forewarn(device, n, T::ELEMENT, steps.len() * options.blocks().len());
    let progress = Progress::start();
    progress.set(format!("drawing {n} {}", T::ELEMENT));
    let workload = Workload::<T>::shifted(device, options.input, n, options.seed, options.offset)?;
    for block in options.blocks() {
        let (mut outcomes, mut refusals, mut uncounted) = (Vec::new(), Vec::new(), None);
        for (step, ptx) in steps.iter().zip(&kernels) {
            let block = options.block(step, block, steps.len())?;
            progress.set(format!(
                "{} on {n} {} in blocks of {}",
                step.name,
                T::ELEMENT,
                block.threads()
            ));
            match run::run(step, ptx, device, &workload, block, options.samples()) {
                Ok(mut outcome) => {
                    if options.counters && outcome.wrong.is_none() {
                        let drawn = options.drawn();
                        let counted = sessions.get_or_try_init(|| session(device)).and_then(|by| {
                            run::count(by, step, ptx, device, &workload, block, drawn)
                        });
                        match counted {
                            Ok(counted) => outcome.counted = Some(counted),
                            Err(error) => uncounted = Some(error),
                        }
                    }
                    outcomes.push(outcome);
                }
                // If there are several steps, the steps that the GPU cannot run are left out, with
                // a note. A single step fails.
                Err(error) if steps.len() > 1 => refusals.push(Refusal::of(step.name, error)?),
                Err(error) => return Err(error.into()),
            }
        }
        if outcomes.is_empty() {
            let why = refusals.iter().map(|Refusal { step, why, .. }| format!("{step}: {why}"));
            return Err(Error::NoneRuns(why.collect()).into());
        }
        progress.pause(|| done(&outcomes, &refusals, uncounted))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod transcript;
