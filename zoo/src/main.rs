//! Runs the zoo in the interpreter: `cargo run -p zoo` runs all bugs, and `cargo run -p zoo --
//! plain-tail` runs one.

use std::io::{self, Write};
use std::process::ExitCode;

use zoo::{BUGS, Bug, page, table, watch, wrapped};

fn main() -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let (text, code) = match said(&asked) {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(message) => {
            let _ = write!(io::stderr(), "{}", wrapped(&format!("error: {message}"), ""));
            return ExitCode::from(2);
        }
    };
    // A closed pipe, for example to `head`, is not a failure.
    let _ = io::stdout().write_all(text.as_bytes());
    code
}

/// Returns the output: a table of all bugs, or a page for each requested bug.
fn said(asked: &[String]) -> Result<String, String> {
    let run = |bug: &Bug| watch(bug).map_err(|error| format!("{}: {error}", bug.name));
    if asked.iter().any(|word| word == "--help" || word == "-h") {
        return Ok("Usage: zoo [BUG ...]\nRuns broken sums in the interpreter: the named sums, or all sums if none is named.\n".into());
    }
    if asked.is_empty() {
        let outcomes = BUGS.iter().map(run).collect::<Result<Vec<_>, _>>()?;
        return Ok(table(BUGS.iter().zip(&outcomes)));
    }
    let mut pages = Vec::new();
    for name in asked {
        let bug = BUGS.iter().find(|bug| bug.name == *name).ok_or_else(|| {
            let names: Vec<&str> = BUGS.iter().map(|bug| bug.name).collect();
            format!("there is no bug `{name}` in the zoo: choose {}", names.join(", "))
        })?;
        pages.push(page(bug, &run(bug)?));
    }
    Ok(pages.join("\n"))
}
