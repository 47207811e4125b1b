//! Implements `ladder zoo`, which runs a broken sum many times on a GPU. `xtask/gpu.sh zoo` runs
//! this command under NVIDIA's tools.

use std::{fmt, io::Write};

use ::zoo::{BUGS, Before, Bug, EARLY_RETURN};
use clap::Args;
use common::{
    Error, Result,
    cli::Stop,
    device::{Choice, Device, Memory, Ptx, Settings},
    plan::{Call, Value},
};

/// The options of `ladder zoo`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The name of the bug [default: list the names of all bugs]
    pub bug: Option<String>,

    /// Where to run: auto, cuda, cuda:1, simt; for the interpreter's checks use `cargo run -p zoo`
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    pub device: Choice,

    /// The number of runs
    #[arg(long, value_name = "RUNS", default_value = "1000")]
    pub runs: u32,
}

/// The results of the runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    right: u32,
    wrong: u32,
    /// The error that ended the runs early.
    error: Option<String>,
}

/// Formats a line of the log. The error comes last, because the error may contain commas.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.error.as_deref().unwrap_or("none");
        write!(f, "right {} wrong {} error {error}", self.right, self.wrong)
    }
}

/// Runs a broken sum, and prints how often its result was right. A wrong sum is a result, not an
/// error.
pub fn run(options: &Options) -> Result<(), Stop> {
    let mut out = anstream::stdout();
    let Some(name) = &options.bug else {
        for bug in &BUGS {
            writeln!(out, "{}", bug.name)?;
        }
        return Ok(());
    };
    // The kernel with an early return is not a bug, but the same runs can count how often its
    // result is right.
    let bug =
        BUGS.iter().chain([&EARLY_RETURN]).find(|bug| bug.name == *name).ok_or_else(|| {
            Error::Usage(format!("`{name}` is not in the zoo: `ladder zoo` lists the names"))
        })?;
    let device = Device::open(options.device, &Settings::default())?;
    if bug.is_long() && device.gpu().is_err() {
        let bytes = numbers::group(4 * bug.n);
        return Err(Error::Usage(format!(
            "{name} needs {bytes} bytes, which are too many for the interpreter: to run only its last blocks, use `cargo run -p zoo {name}`"
        ))
        .into());
    }
    let mut tally = Tally::default();
    if let Err(error) = tally.runs(&device, bug, options.runs) {
        tally.error = Some(error.to_string());
    }
    writeln!(out, "{tally}")?;
    Ok(())
}

impl Tally {
    fn runs(&mut self, device: &Device, bug: &Bug, runs: u32) -> Result<()> {
        let ptx = Ptx {
            text: bug.ptx.to_owned(),
            source: bug.source.to_owned(),
            origin: "committed PTX".into(),
            file: format!("{}.i32.ptx", bug.name),
        };
        let program = device.load(&ptx)?;
        let input = input(device, bug)?;
        let bytes = 4 * u64::from(bug.outputs());
        let output = device.alloc("output", bytes)?;
        let addresses = [&input, &output].map(|memory| Value::Address(memory.address()));
        let mut args = [&addresses[..], &[Value::U64(bug.n)]].concat();
        // The buffers hold partial sums, and a ticket that is zeroed only before the first launch.
        let scratch =
            [device.alloc("partial sums", 4 * u64::from(bug.blocks))?, device.alloc("tickets", 4)?];
        device.fill(&scratch[1], 0)?;
        if bug.scratch {
            args.extend(scratch.iter().map(|memory| Value::Address(memory.address())));
        }
        let call = Call {
            entry: "reduce".into(),
            grid: bug.blocks,
            block: bug.threads,
            cluster: 1,
            args,
            ..Call::default()
        };
        let expected = bug.expected();
        for _ in 0..runs {
            match bug.before {
                Before::Poison => device.poison(&output)?,
                Before::Zero => device.fill(&output, 0)?,
                Before::Nothing => {}
            }
            device.launch(&program, &call)?;
            device.finish()?;
            let mut found = vec![0; bytes as usize];
            device.read(&output, &mut found)?;
            match bug.sum(&found) == expected {
                true => self.right += 1,
                false => self.wrong += 1,
            }
        }
        Ok(())
    }
}

/// Allocates the elements, and copies them in pieces that fit into host memory.
fn input(device: &Device, bug: &Bug) -> Result<Memory> {
    const PIECE: u64 = 1 << 24;
    let memory = device.alloc("input", 4 * bug.n)?;
    let mut piece: Vec<u8> = Vec::new();
    for start in (0..bug.n).step_by(PIECE as usize) {
        let many = PIECE.min(bug.n - start);
        // All elements are the same, so one piece is copied repeatedly.
        if !bug.is_long() || piece.is_empty() {
            piece = (start..start + many).flat_map(|i| bug.element(i).to_le_bytes()).collect();
        }
        device.write(&memory, 4 * start, &piece[..4 * many as usize])?;
    }
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bug(name: &str) -> &'static Bug {
        BUGS.iter().find(|bug| bug.name == name).unwrap()
    }

    #[test]
    fn a_tally_is_a_line_of_the_log() {
        let tally = Tally { right: 3, wrong: 4, error: None };
        assert_eq!(tally.to_string(), "right 3 wrong 4 error none");
        let ended = Tally { error: Some("a, b".into()), ..tally };
        assert_eq!(ended.to_string(), "right 3 wrong 4 error a, b");
    }

    #[test]
    fn runs_are_counted_right_and_wrong() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let mut tally = Tally::default();
        tally.runs(&device, bug("volatile-tail"), 3).unwrap();
        assert_eq!(tally, Tally { right: 3, wrong: 0, error: None });
        // If the ticket is never reset, the first launch is right, and all later launches are
        // wrong.
        let mut tally = Tally::default();
        tally.runs(&device, bug("ticket-not-reset"), 3).unwrap();
        assert_eq!(tally, Tally { right: 1, wrong: 2, error: None });
    }

    #[test]
    fn the_error_that_ends_the_runs_is_kept() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let mut tally = Tally::default();
        let error = tally.runs(&device, bug("misaligned-vector"), 3).unwrap_err().to_string();
        assert!(error.contains("16"), "{error}");
        assert_eq!((tally.right, tally.wrong), (0, 0));
    }
}
