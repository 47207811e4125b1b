//! The command line.

mod value;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use serde_json::{Map, Value, json};
use simt::observe::{Finding, Memory, Prints, Races, Sync, Trace};
use simt::{Arch, Config, Counters, Counts, Gpu, Launch, Module, ParseError, Schedule, Watch};
use value::Given;

/// Runs PTX on the CPU, warp by warp, and counts instructions and memory accesses.
#[derive(Parser)]
#[command(name = "simt", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Launch an entry once, and print its outputs and counts.
    Run(Box<Run>),
    /// Check whether a PTX file can be run, and list its unsupported statements.
    Check {
        /// The PTX file.
        file: PathBuf,
    },
}

#[derive(clap::Args)]
struct Run {
    /// The PTX file.
    file: PathBuf,
    /// Entry to launch; optional if the file has only one.
    #[arg(long)]
    entry: Option<String>,
    /// Blocks: X, X,Y or X,Y,Z.
    #[arg(long, default_value = "1", value_parser = dims, allow_negative_numbers = true)]
    grid: [u32; 3],
    /// Threads per block: X, X,Y or X,Y,Z.
    #[arg(long, default_value = "32", value_parser = dims, allow_negative_numbers = true)]
    block: [u32; 3],
    /// Blocks per cluster: X, X,Y or X,Y,Z.
    #[arg(long, default_value = "1", value_parser = dims, allow_negative_numbers = true)]
    cluster: [u32; 3],
    /// Bytes of dynamic shared memory per block.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    shared: u32,
    /// The entry's next argument: TYPE:VALUE, buf:TYPE:COUNT:FILL or out:TYPE:COUNT.
    ///
    /// TYPE is u8, u16, u32, i32, u64, i64, f32 or f64. FILL is zeros, ones, iota, poison or the
    /// path of a file that contains the bytes. The contents of `out` are printed after the run.
    #[arg(long = "arg", value_name = "ARG")]
    args: Vec<String>,
    /// Schedule: converged, min-pc or adversarial:SEED.
    #[arg(long, default_value = "converged")]
    schedule: Schedule,
    /// GPU to simulate: sm_70, sm_86, sm_90 or sm_120. Append :SMS to set the number of
    /// multiprocessors. The default is a GPU that can run the file.
    #[arg(long)]
    gpu: Option<Arch>,
    /// Maximum number of warp instructions that the launch may execute.
    #[arg(long)]
    budget: Option<u64>,
    /// Stop the launch if no block finishes within this many seconds; 0 for no limit.
    #[arg(long, default_value_t = 10.0, value_parser = seconds, allow_negative_numbers = true)]
    patience: f64,
    /// Checks to perform: memory, races and sync, separated by commas; or all. Findings make the
    /// run fail.
    #[arg(long, value_delimiter = ',', value_name = "CHECKS")]
    check: Vec<Check>,
    /// Write the accesses of the first block to a file as JSON.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Check {
    /// Finds reads of uninitialized memory, and addresses out of bounds.
    Memory,
    /// Finds unordered accesses to the same address.
    Races,
    /// Finds misused barriers and shuffles.
    Sync,
    /// All checks.
    All,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => Ok(seconds),
        _ => Err("the number of seconds must be from 0 to 10^9".into()),
    }
}

fn dims(text: &str) -> Result<[u32; 3], String> {
    let mut dims = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("give at most three numbers".into());
    }
    for (dim, part) in dims.iter_mut().zip(parts) {
        *dim = part
            .trim()
            .parse()
            .map_err(|_| format!("`{part}` is not an integer from 0 to {}", u32::MAX))?;
    }
    Ok(dims)
}

pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            let _ = writeln!(std::io::stderr(), "{}", wrapped(error.to_string().trim_end()));
            return ExitCode::from(2);
        }
        // The user asked for help or for the version.
        Err(error) => error.exit(),
    };
    let (text, code) = match cli.command {
        Command::Check { file } => check(&file),
        Command::Run(run) => match launch(&run) {
            Ok((text, true)) => (text, ExitCode::SUCCESS),
            Ok((text, false)) => (text, ExitCode::FAILURE),
            Err(message) => {
                complain(&message);
                return ExitCode::FAILURE;
            }
        },
    };
    match std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush()) {
        // If a reader such as `head` has closed the pipe, the run has not failed.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let _ = writeln!(std::io::stderr(), "error: cannot write the result: {error}");
            ExitCode::FAILURE
        }
        _ => code,
    }
}

/// Prints an error.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "{}", wrapped(&format!("error: {message}")));
}

/// Breaks the lines of a message at 100 columns, between words.
fn wrapped(message: &str) -> String {
    let mut out = String::new();
    for (i, line) in message.split('\n').enumerate() {
        out += if i > 0 { "\n" } else { "" };
        let mut column = 0;
        for (j, word) in line.split(' ').enumerate() {
            let length = word.chars().count();
            let space = match j {
                0 => "",
                _ if column + 1 + length > 100 => "\n",
                _ => " ",
            };
            column = if space == "\n" { 0 } else { column + space.len() } + length;
            out += space;
            out += word;
        }
    }
    out
}

fn read(file: &Path) -> Result<String, String> {
    let said = |e: std::io::Error| format!("{}: {e}", file.display());
    std::io::read_to_string(regular(file).map_err(said)?).map_err(said)
}

/// Opens a regular file. A pipe is not opened, because opening it could block forever.
fn regular(file: &Path) -> std::io::Result<std::fs::File> {
    if !std::fs::metadata(file)?.is_file() {
        let why = "it is not a regular file: copy its contents to a regular file";
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, why));
    }
    let mut options = std::fs::OpenOptions::new();
    // `O_NONBLOCK`: a read of `/proc/kmsg`, which counts as regular, fails instead of waiting.
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, 0o4000);
    options.read(true).open(file)
}

fn check(file: &Path) -> (String, ExitCode) {
    let text = match read(file) {
        Ok(text) => text,
        Err(message) => {
            complain(&message);
            return (String::new(), ExitCode::FAILURE);
        }
    };
    let mut out = String::new();
    match Module::parse(&text) {
        Ok(module) => {
            for entry in module.entries() {
                if let Some(kernel) = module.kernel(entry) {
                    let sizes: Vec<String> = kernel.params().map(|b| b.to_string()).collect();
                    let sizes =
                        if sizes.is_empty() { "none".to_string() } else { sizes.join(", ") };
                    let _ = writeln!(
                        out,
                        "{entry}: can be run; {} instructions, parameter bytes: {sizes}",
                        kernel.len()
                    );
                }
            }
            for error in module.refused().flat_map(|(_, errors)| errors) {
                let _ = writeln!(out, "{}", located(file, error));
            }
            let fine = module.refused().next().is_none();
            (out, if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Err(_) => {
            for error in Module::missing(&text) {
                let _ = writeln!(out, "{}", located(file, &error));
            }
            (out, ExitCode::FAILURE)
        }
    }
}

fn located(file: &Path, error: &ParseError) -> String {
    format!("{}:{}:{}: {}", file.display(), error.line, error.column, error.message)
}

/// Runs the entry. Returns the output, and whether the run succeeded without findings.
fn launch(run: &Run) -> Result<(String, bool), String> {
    let text = read(&run.file)?;
    let module = Module::parse(&text).map_err(|e| format!("{}: {e}", run.file.display()))?;
    let refused = module.refused().map(|(name, _)| name);
    let names: Vec<&str> = module.entries().chain(refused).collect();
    let entry = match (&run.entry, names.as_slice()) {
        (Some(entry), _) => entry.as_str(),
        (None, [only]) => only,
        (None, _) => return Err(format!("choose an entry with --entry: {}", names.join(", "))),
    };
    let mut config = Config::default();
    config.schedule = run.schedule;
    config.budget = run.budget.unwrap_or(config.budget);
    config.block_budget = config.block_budget.min(config.budget);
    config.patience = (run.patience > 0.0).then(|| Duration::from_secs_f64(run.patience));
    let target = module.kernel(entry).map_or("", |kernel| kernel.target());
    let newer = Arch::that_runs(target).filter(|arch| arch.number() > config.arch.number());
    if let Some(arch) = run.gpu.or(newer) {
        config.play(arch);
    }
    let mut gpu = Gpu::with(config);
    let mut given = Vec::new();
    for arg in &run.args {
        given.push(Given::parse(arg, &mut gpu).map_err(|e| format!("--arg {arg}: {e}"))?);
    }
    let launch = Launch {
        entry,
        grid: run.grid,
        block: run.block,
        cluster: run.cluster,
        shared: run.shared,
        args: given.iter().map(|g| g.arg.clone()).collect(),
    };
    let asked = |check| run.check.iter().any(|&c| c == check || c == Check::All);
    let mut watch: Watch = (
        Some((Counters::default(), Prints::new())),
        asked(Check::Races).then(Races::new),
        asked(Check::Memory).then(Memory::new),
        // This check always runs: it is cheap, and a shuffle from an inactive lane can explain a
        // wrong result.
        Some(Sync::new()),
        (run.trace.as_ref().map(|_| Trace::new(1)), None, None),
    );
    let outcome = gpu.launch_watched(&module, &launch, Some(&mut watch));
    let (counts, races, memory, sync, (trace, ..)) = watch;
    let (counters, prints) = counts.unwrap_or_default();
    let sync = sync.unwrap_or_default();
    if let (Some(file), Some(trace)) = (&run.trace, trace) {
        std::fs::write(file, trace.to_json()).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    let findings: Vec<Finding> = [
        memory.map_or_else(Vec::new, |m| m.findings().to_vec()),
        races.map_or_else(Vec::new, |r| r.findings().to_vec()),
        if asked(Check::Sync) { sync.findings().to_vec() } else { Vec::new() },
    ]
    .concat();
    let hints = if asked(Check::Sync) { &[] } else { sync.findings() };
    if let Err(error) = outcome {
        // Findings and output that precede the trap may explain it.
        let said: String = prints.printed().iter().map(|p| format!("{p}\n")).collect();
        let before: String = findings.iter().map(|f| format!("{f}\n")).collect();
        return Err(format!("{error}\n{before}{said}").trim_end().to_string());
    }
    let mut outputs = Vec::new();
    for given in &given {
        if let Some(values) = given.output(&mut gpu)? {
            outputs.push(values);
        }
    }
    for hint in hints {
        let _ = writeln!(std::io::stderr(), "hint: {hint}");
    }
    let text = if run.json {
        as_json(&outputs, &counters, &findings, &prints)
    } else {
        as_text(&outputs, &counters.total, &findings, &prints)
    };
    Ok((text, findings.is_empty()))
}

fn as_json(
    outputs: &[Vec<Value>],
    counters: &Counters,
    findings: &[Finding],
    prints: &Prints,
) -> String {
    let object =
        |c: &Counts| c.fields().map(|(k, v)| (k.to_string(), v.into())).collect::<Map<_, _>>();
    let launch = counters.launches.first();
    let rounds: Vec<_> = launch.iter().flat_map(|l| &l.rounds).map(object).collect();
    let lines: Map<_, _> = launch
        .iter()
        .flat_map(|l| &l.lines)
        .map(|(line, c)| (line.to_string(), object(c).into()))
        .collect();
    let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let printed: Vec<String> = prints.printed().iter().map(ToString::to_string).collect();
    let all = json!({
        "outputs": outputs,
        "counts": object(&counters.total),
        "rounds": rounds,
        "lines": lines,
        "findings": findings,
        "printed": printed,
    });
    format!("{all:#}\n")
}

fn as_text(
    outputs: &[Vec<Value>],
    counts: &Counts,
    findings: &[Finding],
    prints: &Prints,
) -> String {
    let mut out = String::new();
    for printed in prints.printed() {
        let _ = writeln!(out, "{printed}");
    }
    match prints.total() - prints.printed().len() as u64 {
        0 => {}
        more => {
            let _ = writeln!(out, "and {more} more lines");
        }
    }
    for finding in findings {
        let _ = writeln!(out, "{finding}");
    }
    for values in outputs {
        let values: Vec<String> = values
            .iter()
            .map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_string))
            .collect();
        let _ = writeln!(out, "out: {}", values.join(" "));
    }
    for (name, value) in counts.fields() {
        let _ = writeln!(out, "{name:<24}{value:>16}");
    }
    out
}
