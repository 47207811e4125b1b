//! The command line, the same for every step and for the whole ladder.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
    time::Duration,
};

use clap::{CommandFactory, FromArgMatches};
use indicatif::{ProgressBar, ProgressStyle};
use once_cell::unsync::OnceCell;

pub use super::stop::{Stop, exit};
use super::{
    beside, ledger,
    next::next,
    options::{Format, Options},
    profile::Profile,
    record::Record,
    report,
    sizes::Sizes,
};
use crate::{
    Element, Error, Result, Step, Study,
    device::{
        Device, Facts,
        cupti::{Fault, counters::Session},
        ptx,
    },
    plan::Problem,
    run::{self, Outcome, Refusal},
    sum::{Scalar, Workload},
};

/// The program of one step.
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
        "{}\n\nWhat it does better than the step before:\n  {}\nWhat it still costs, which is the next step:\n  {}\n\n\
         The program draws N elements, plans the launches, runs the kernel in\n\
         steps/{}/src/kernel.cu, holds the sum against the exact one, and only then\n\
         times it. Change a line of the kernel and run again: it is compiled on the fly.",
        step.name, step.cures, step.costs, step.name
    );
    let examples = format!(
        "Examples:\n  \
         cargo run -p {0}                              one sum, with its verdict\n  \
         cargo run -p {0} -- --explain --n 2^20        what would be launched\n  \
         cargo run -p {0} -- --n 1,257,3*2^19+77       awkward sizes\n  \
         cargo run -p {0} -- --type i32 --threads 512  another type, larger blocks\n  \
         cargo run -p {0} -- --device simt             the interpreter: counts, not times\n\n\
         Exit code: 0 the sum is right, 1 it is wrong, 2 it could not be computed.",
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

/// What a step's own program shows of its runs.
fn alone(outcomes: &[Outcome], _: &[Refusal], options: &Options) -> String {
    let show = |outcome| {
        let lines = if options.lines { ledger::lines(outcome) } else { String::new() };
        report::outcome(outcome, options.input, options.seed)
            + &ledger::ledger(outcome)
            + &beside::beside(outcome)
            + &lines
    };
    outcomes.iter().map(show).collect()
}

/// The command line of the whole ladder, to which the ladder adds its further commands.
pub fn ladder_command() -> clap::Command {
    Program::command()
        .name("ladder")
        .bin_name("ladder")
        .about("Every step of the ladder at the same sizes, in one table")
        .long_about(
            "Runs every step, in lesson order, on the same elements, and prints one table for each\n\
             size, type and block size: time, GB/s, share of the memory bus, and how many times\n\
             faster each step is than v0 and than the step before it. In the interpreter: counts.",
        )
}

/// What is asked of the ladder itself.
pub fn options(matches: &clap::ArgMatches) -> Result<Options, clap::Error> {
    Program::from_arg_matches(matches).map(|Program { options }| options)
}

/// Runs the program of the whole ladder.
pub fn ladder(options: &Options, steps: &[&'static Step]) -> ExitCode {
    let show: Show = |outcomes, refusals, _| report::ladder(outcomes, refusals);
    exit(print(steps, options, show, &mut anstream::stdout()))
}

/// Runs the program of a study: several ways to one sum, in one table, at sizes of its own.
pub fn study(study: &'static Study) -> ExitCode {
    main(study_command(study), study.ways, |outcomes, refusals, _| {
        report::ladder(outcomes, refusals)
    })
}

/// The command line of a study, to which one that does more adds its commands.
pub fn study_command(study: &'static Study) -> clap::Command {
    let help = "How many elements to add: 1048576, 2^20, 3*2^19+77, 1Mi, or a list such as 1,257,2^10..2^18";
    Program::command()
        .name(study.name)
        .bin_name(study.name)
        .about(study.about)
        .mut_arg("n", |arg| arg.default_value(study.sizes).help(help).long_help(help))
}

/// Says what is wrong with a command line, or prints the help that it asked for.
pub fn refused(error: &clap::Error) -> ExitCode {
    // A closed pipe has no reader for this either.
    let _ = error.print();
    let words: Vec<String> = std::env::args().collect();
    if let Some(note) = note(error, &words, |variable| std::env::var(variable).ok()) {
        let _ = writeln!(anstream::stderr(), "{note}");
    }
    ExitCode::from(error.exit_code() as u8)
}

/// Where a refused value comes from, if it is a variable's: nobody looks for a wrong value where nobody
/// wrote it.
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
        "note: the value is that of the variable {name}, which is `{value}`: change or unset it"
    ))
}

/// Parses, runs, prints, and says how it went.
fn main(command: clap::Command, steps: &[&'static Step], show: Show) -> ExitCode {
    let parsed = command
        .term_width(80)
        .try_get_matches()
        .and_then(|matches| Program::from_arg_matches(&matches));
    match parsed {
        Ok(Program { options }) => exit(print(steps, &options, show, &mut anstream::stdout())),
        Err(error) => refused(&error),
    }
}

/// What is shown of the outcomes of one problem, and of the steps that could not run.
type Show = fn(&[Outcome], &[Refusal], &Options) -> String;

/// What is done with the outcomes of one problem, with the steps that could not run, and with why a
/// sum was not counted.
type Done<'d> = dyn FnMut(&[Outcome], &[Refusal], Option<Error>) -> Result<(), Stop> + 'd;

/// Runs all steps on all problems, and prints what came of them.
fn print(
    steps: &[&'static Step],
    options: &Options,
    show: Show,
    out: &mut impl Write,
) -> Result<(), Stop> {
    if !options.explain && steps.len() > 1 && options.kernel.is_some() {
        let text = "`--kernel` takes the place of one step's kernel, and the ladder has many: run a step with it";
        return Err(Error::Usage(text.into()).into());
    }
    if steps.len() > 1 && (options.lines || options.trace.is_some() || options.counters) {
        let text = "`--lines`, `--counters` and `--trace` show one kernel, and the ladder has many: run a step with them";
        return Err(Error::Usage(text.into()).into());
    }
    if options.counters && options.format == Format::Csv {
        let text = "`--counters` has rows for each launch, and `--format csv` one for each sum: take `--format json`, or `ladder counters --from cupti`";
        return Err(Error::Usage(text.into()).into());
    }
    // Before the GPU is opened, so that this is seen too.
    let profile = options.profile.as_ref().filter(|_| !options.explain).map(|_| Profile::start());
    let device = Device::open(options.device, &options.settings())?;
    if options.explain {
        return explain(steps, options, device.facts(), out);
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
        wrong = wrong.take().or(outcomes.iter().find_map(Outcome::fault));
        let observed = outcomes.iter().filter_map(|outcome| outcome.observed.as_ref());
        traces.extend(observed.filter_map(|observed| observed.trace.clone()));
        Ok(())
    })?;
    if steps.len() == 1 {
        write!(out, "{}", sizes.table())?;
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
        writeln!(out, "\n  {line}")?;
    }
    Ok(())
}

/// Says what a device with these facts would be given: `--explain`.
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

/// Runs all steps on each problem in turn.
fn each(
    steps: &[&'static Step],
    options: &Options,
    device: &Device,
    done: &mut Done<'_>,
) -> Result<(), Stop> {
    // Only what has times is worth a large one.
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

/// CUPTI, ready to count here; asked for once a sum is verified and timed, so nothing is opened before.
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
    let progress = progress();
    progress.set_message(format!("drawing {n} {}", T::ELEMENT));
    let workload = Workload::<T>::shifted(device, options.input, n, options.seed, options.offset)?;
    for block in options.blocks() {
        let (mut outcomes, mut refusals, mut uncounted) = (Vec::new(), Vec::new(), None);
        for (step, ptx) in steps.iter().zip(&kernels) {
            let block = options.block(step, block, steps.len())?;
            progress.set_message(format!(
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
                // The ladder ends lower on an older GPU, and says so; a step alone is an error.
                Err(error) if steps.len() > 1 => refusals.push(Refusal::of(step.name, error)?),
                Err(error) => return Err(error.into()),
            }
        }
        if outcomes.is_empty() {
            let why = refusals.iter().map(|Refusal { step, why, .. }| format!("{step}: {why}"));
            return Err(Error::NoneRuns(why.collect()).into());
        }
        progress.suspend(|| done(&outcomes, &refusals, uncounted))?;
    }
    progress.finish_and_clear();
    Ok(())
}

/// A spinner with what is being done; on a terminal only, and only after a second.
fn progress() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
    let bar = ProgressBar::no_length()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod transcript;
