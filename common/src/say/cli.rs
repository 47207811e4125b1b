//! The command line, the same for every step and for the whole ladder.

use std::{
    io::{self, IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::{Args, CommandFactory, FromArgMatches, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use super::{ledger, record::Record, report};
use crate::{
    Element, Error, Result, Step,
    device::{Check, Choice, Device, Settings, ptx},
    plan::{Block, Problem, Size},
    run::{self, Outcome, Refusal, Samples},
    sum::{Input, Scalar, Workload},
};

/// What can be asked of a step.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How many elements to add: 1048576, 2^20, 2^20+13, 1Mi, or a list such as 1,257,2^20
    /// [default: 2^20, and on a GPU 2^28 too]
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        allow_hyphen_values = true,
        env = "REDUCE_N"
    )]
    pub n: Vec<Size>,

    /// Threads of a block: 64, 128, 256, 512 or 1024, or a list
    #[arg(long, value_name = "THREADS", value_delimiter = ',', value_parser = block, default_value = "256", allow_hyphen_values = true)]
    pub threads: Vec<Block>,

    /// The type of an element: f32, i32 (wraps) or f64, or a list
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', default_value = "f32")]
    pub element: Vec<Element>,

    /// What the elements are: uniform (floats 0 to 1, integers 0 to 255), ones, signed
    /// (floats -1 to 1, any integer), or one-hot:INDEX
    #[arg(long, value_name = "INPUT", default_value = "uniform")]
    pub input: Input,

    /// Elements to leave out at the start of the memory: with 1, the slice begins between two words
    /// of 16 bytes
    #[arg(long, value_name = "ELEMENTS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..4096))]
    pub offset: u64,

    /// The seed that random elements come from
    #[arg(long, value_name = "SEED", default_value_t = 42)]
    pub seed: u64,

    /// Where to run: auto (the GPU if there is one, the interpreter if not), cuda, cuda:1, simt
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    pub device: Choice,

    /// How many times to time it; 0 only verifies, as suits compute-sanitizer and ncu
    #[arg(long, value_name = "COUNT", default_value = "101", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub samples: u32,

    /// Time with the input already in L2, where it fits
    #[arg(long)]
    pub warm: bool,

    /// How to print: table (for people), json (one object a line), csv
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    pub format: Format,

    /// Print what would be launched, and why this step exists; run nothing
    #[arg(long)]
    pub explain: bool,

    /// Run this kernel.cu (compiled on the fly) or .ptx in place of the step's own
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,

    /// The interpreter's order of execution: converged (counts are defined on it), min-pc, or
    /// adversarial:SEED (any lane may run ahead as far as the next .sync)
    #[arg(long, value_name = "SCHEDULE", default_value = "converged", value_parser = schedule)]
    pub schedule: simt::Schedule,

    /// What the interpreter looks for: races, memory, sync, a list of them, or none
    /// [default: all of them, up to 2^20 elements]
    #[arg(long, value_name = "CHECKS", value_parser = checks)]
    pub check: Option<Checks>,

    /// Print the kernel with the interpreter's counts in the margin
    #[arg(long)]
    pub lines: bool,

    /// Write what the first block of each launch does, access by access, as JSON
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

/// The checks of `--check`.
#[derive(Clone, Debug)]
pub struct Checks(Vec<Check>);

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// One object a line.
    Json,
    /// A header and rows.
    Csv,
}

fn block(text: &str) -> Result<Block> {
    match text.parse::<i64>() {
        Ok(threads) => match u32::try_from(threads) {
            Ok(threads) => Block::new(threads),
            Err(_) => Err(Error::Usage(format!(
                "{threads} is no number of threads: take 64, 128, 256, 512 or 1024"
            ))),
        },
        Err(_) => Err(Error::Usage(format!(
            "`{text}` is no number of threads: take 64, 128, 256, 512 or 1024"
        ))),
    }
}

fn checks(text: &str) -> Result<Checks> {
    match text {
        "none" => Ok(Checks(Vec::new())),
        list => list.split(',').map(str::parse).collect::<Result<_>>().map(Checks),
    }
}

fn schedule(text: &str) -> Result<simt::Schedule, String> {
    text.parse()
}

/// The program of one step.
#[derive(clap::Parser, Debug)]
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
         cargo run -p {0} -- --n 1,257,2^20+13         awkward sizes\n  \
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
    main(command, &[step], |outcomes, _, options| {
        let show = |outcome| {
            let lines = if options.lines { ledger::lines(outcome) } else { String::new() };
            report::outcome(outcome, options.input, options.seed)
                + &ledger::ledger(outcome)
                + &lines
        };
        outcomes.iter().map(show).collect()
    })
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

/// Runs the program of the whole ladder.
pub fn ladder(matches: &clap::ArgMatches, steps: &[&'static Step]) -> ExitCode {
    match Program::from_arg_matches(matches) {
        Ok(Program { options }) => {
            exit(print(steps, &options, |outcomes, refusals, _| report::ladder(outcomes, refusals)))
        }
        Err(error) => refused(&error),
    }
}

/// Runs the program of a study: several ways to one sum, in one table, at sizes of its own.
pub fn study(
    name: &'static str,
    about: &'static str,
    sizes: &'static str,
    ways: &[&'static Step],
) -> ExitCode {
    let help =
        "How many elements to add: 1048576, 2^20, 2^20+13, 1Mi, or a list such as 1,257,2^20";
    let command = Program::command()
        .name(name)
        .bin_name(name)
        .about(about)
        .mut_arg("n", |arg| arg.default_value(sizes).help(help).long_help(help));
    main(command, ways, |outcomes, refusals, _| report::ladder(outcomes, refusals))
}

/// Says what is wrong with a command line, or prints the help that it asked for.
pub fn refused(error: &clap::Error) -> ExitCode {
    // A closed pipe has no reader for this either.
    let _ = error.print();
    ExitCode::from(error.exit_code() as u8)
}

/// Says how a command went: an error is a sentence, a closed pipe is none.
pub fn exit(result: Result<(), Stop>) -> ExitCode {
    match result {
        Ok(()) | Err(Stop::Closed) => ExitCode::SUCCESS,
        Err(Stop::Error(error)) => {
            let _ = writeln!(anstream::stderr(), "error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Parses, runs, prints, and says how it went.
fn main(
    command: clap::Command,
    steps: &[&'static Step],
    show: fn(&[Outcome], &[Refusal], &Options) -> String,
) -> ExitCode {
    let parsed = command
        .term_width(80)
        .try_get_matches()
        .and_then(|matches| Program::from_arg_matches(&matches));
    match parsed {
        Ok(Program { options }) => exit(print(steps, &options, show)),
        Err(error) => refused(&error),
    }
}

/// What is done with the outcomes of one problem, and with the steps that could not run.
type Done<'d> = dyn FnMut(&[Outcome], &[Refusal]) -> Result<(), Stop> + 'd;

/// Why printing stopped.
#[derive(Debug)]
pub enum Stop {
    /// Nobody reads standard output any more, as behind `| head -1`.
    Closed,
    /// Something went wrong.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Stop::Closed,
            _ => Stop::Error(Error::File {
                doing: "writing to standard output".into(),
                source: error,
            }),
        }
    }
}

fn print(
    steps: &[&'static Step],
    options: &Options,
    show: fn(&[Outcome], &[Refusal], &Options) -> String,
) -> Result<(), Stop> {
    let mut out = anstream::stdout();
    if options.explain {
        for problem in problems(options, 1 << 20) {
            for step in steps {
                (step.plan)(&problem).check()?;
                writeln!(out, "{}", report::explain(step, &problem))?;
            }
        }
        return Ok(());
    }
    if steps.len() > 1 && options.kernel.is_some() {
        let text = "`--kernel` takes the place of one step's kernel, and the ladder has many: run a step with it";
        return Err(Error::Usage(text.into()).into());
    }
    let settings = Settings {
        schedule: options.schedule,
        sms: None,
        checks: options.check.clone().map(|Checks(checks)| checks),
        traced: u64::from(options.trace.is_some()),
    };
    let device = Device::open(options.device, &settings)?;
    match options.format {
        Format::Table if steps.len() == 1 => {
            write!(out, "{}", report::head(steps[0], device.facts()))?
        }
        Format::Table => writeln!(out, "{}", device.facts().line)?,
        Format::Csv => writeln!(out, "{}", Record::csv_header())?,
        Format::Json => {}
    }
    let mut wrong = None;
    let mut traces = Vec::new();
    each(steps, options, &device, &mut |outcomes, refusals| {
        match options.format {
            Format::Table => write!(out, "{}", show(outcomes, refusals, options))?,
            Format::Csv => {
                outcomes.iter().try_for_each(|o| writeln!(out, "{}", Record::of(o).csv()))?
            }
            Format::Json => outcomes.iter().try_for_each(|o| {
                writeln!(out, "{}", serde_json::to_string(&Record::of(o)).map_err(io::Error::from)?)
            })?,
        }
        out.flush()?;
        wrong = wrong.take().or(outcomes.iter().find_map(fault));
        let observed = outcomes.iter().filter_map(|outcome| outcome.observed.as_ref());
        traces.extend(observed.filter_map(|observed| observed.trace.clone()));
        Ok(())
    })?;
    if let Some(path) = &options.trace {
        let failed = |source| Error::File { doing: format!("writing {}", path.display()), source };
        let text = serde_json::to_string(&traces).map_err(io::Error::from).map_err(failed)?;
        std::fs::write(path, text).map_err(failed)?;
    }
    wrong.map_or(Ok(()), |error| Err(error.into()))
}

/// What is wrong with an outcome: its sum, or what the checks found.
fn fault(outcome: &Outcome) -> Option<Error> {
    if let Some(mismatch) = &outcome.wrong {
        return Some(Error::Wrong(mismatch.to_string()));
    }
    let findings = &outcome.observed.as_ref()?.findings;
    let (first, count) = (findings.first()?, findings.len());
    Some(Error::Findings(format!(
        "the sum is right, but the checks find fault with {} in {count} place(s): {first}",
        outcome.step
    )))
}

/// The problems that the options name, where nothing is said with that many elements.
fn problems(options: &Options, n: u64) -> Vec<Problem> {
    let sizes = if options.n.is_empty() { vec![Size(n)] } else { options.n.clone() };
    let sms = simt::Config::default().sm_count;
    let mut problems = Vec::new();
    for &element in &options.element {
        for &Size(n) in &sizes {
            problems.extend(options.threads.iter().map(|&block| Problem {
                n,
                block,
                element,
                sms,
            }));
        }
    }
    problems
}

/// Runs all steps on each problem in turn.
fn each(
    steps: &[&'static Step],
    options: &Options,
    device: &Device,
    done: &mut Done<'_>,
) -> Result<(), Stop> {
    let sizes = match (options.n.is_empty(), device) {
        (false, _) => options.n.clone(),
        (true, Device::Cuda(_)) => vec![Size(1 << 20), Size(1 << 28)],
        (true, Device::Simt(_)) => vec![Size(1 << 20)],
    };
    for &element in &options.element {
        for &Size(n) in &sizes {
            match element {
                Element::F32 => on::<f32>(steps, options, device, n, done)?,
                Element::I32 => on::<i32>(steps, options, device, n, done)?,
                Element::F64 => on::<f64>(steps, options, device, n, done)?,
            }
        }
    }
    Ok(())
}

/// Runs all steps on one input.
fn on<T: Scalar>(
    steps: &[&'static Step],
    options: &Options,
    device: &Device,
    n: u64,
    done: &mut Done<'_>,
) -> Result<(), Stop> {
    let kernels = steps
        .iter()
        .map(|step| ptx::of(&step.kernel, T::ELEMENT, options.kernel.as_deref()))
        .collect::<Result<Vec<_>>>()?;
    let progress = progress();
    progress.set_message(format!("drawing {n} {}", T::ELEMENT));
    let workload = Workload::<T>::shifted(device, options.input, n, options.seed, options.offset)?;
    let samples = Samples { count: options.samples as usize, warm: options.warm };
    for &block in &options.threads {
        let (mut outcomes, mut refusals) = (Vec::new(), Vec::new());
        for (step, ptx) in steps.iter().zip(&kernels) {
            progress.set_message(format!(
                "{} on {n} {} in blocks of {}",
                step.name,
                T::ELEMENT,
                block.threads()
            ));
            match run::run(step, ptx, device, &workload, block, samples) {
                Ok(outcome) => outcomes.push(outcome),
                // The ladder ends lower on an older GPU, and says so; a step alone is an error.
                Err(Error::OldGpu { target, .. }) if steps.len() > 1 => {
                    refusals.push(Refusal { step: step.name, target })
                }
                Err(error) => return Err(error.into()),
            }
        }
        progress.suspend(|| done(&outcomes, &refusals))?;
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
