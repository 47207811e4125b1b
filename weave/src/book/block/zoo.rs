//! Implements `{{zoo}}`, which shows the broken sums in `zoo/`, with the reports from a GPU and its
//! tools (`results/zoo/*/zoo.csv`, written by `xtask/gpu.sh zoo`).

use std::{collections::BTreeMap, fs, path::Path};

use ::zoo::{BUGS, Bug};
use anyhow::{Context, Result, bail, ensure};

use super::{highlight::escape, listing};
use crate::book::source::{Sources, file::read, quantity::Quantity};

/// The tools in NVIDIA's compute-sanitizer, in the order of the columns.
const TOOLS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// A line of the log, about a bug that was run alone or under a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    runs: u32,
    /// The numbers of right and wrong sums; `None` if the run was stopped.
    sums: Option<(u32, u32)>,
    /// The number of reports from the tool.
    reports: Option<u32>,
    error: String,
}

/// The lines of the logs, keyed by bug and tool. A line in a later folder replaces an earlier line
/// for the same bug and tool.
struct Log {
    lines: BTreeMap<(String, String), Line>,
}

impl Log {
    fn read(results: &Path) -> Result<Log> {
        let entries = fs::read_dir(results)
            .with_context(|| format!("{}: `xtask/gpu.sh zoo` writes it", results.display()))?;
        let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        let mut lines = BTreeMap::new();
        for folder in folders {
            let file = folder.join("zoo.csv");
            lines.extend(parse(&read(&file)?).with_context(|| file.display().to_string())?);
        }
        Ok(Log { lines })
    }

    fn line(&self, bug: &str, tool: &str) -> Result<&Line> {
        let line = self.lines.get(&(bug.to_owned(), tool.to_owned()));
        line.with_context(|| format!("results/zoo has no line for {bug} under {tool}"))
    }

    fn notices(&self, bug: &str, tool: &str) -> Result<bool> {
        Ok(self.line(bug, tool)?.reports.is_some_and(|reports| reports > 0))
    }
}

fn parse(text: &str) -> Result<BTreeMap<(String, String), Line>> {
    let mut lines = BTreeMap::new();
    for line in text.lines().skip(1) {
        // The error comes last and may contain commas.
        let fields: Vec<&str> = line.splitn(9, ',').collect();
        let [bug, tool, _, _, runs, right, wrong, reports, error] = fields[..] else {
            bail!("`{line}` has {} fields instead of 9", fields.len());
        };
        let sums = right.parse().ok().zip(wrong.parse().ok());
        let error = error.trim_matches('"').to_owned();
        let runs = runs.parse().with_context(|| format!("the runs of `{line}`"))?;
        let line = Line { runs, sums, reports: reports.parse().ok(), error };
        lines.insert((bug.to_owned(), tool.to_owned()), line);
    }
    Ok(lines)
}

/// Describes how a plain run ended.
fn ended(line: &Line) -> String {
    match line.sums {
        None => "hangs".into(),
        Some((right, wrong)) if right + wrong < line.runs => "stopped".into(),
        Some((right, _)) => format!("{right} of {}", line.runs),
    }
}

/// Implements `{{zoo}}`, which shows a table of all bugs and the tools that find them.
pub(crate) fn table(sources: &Sources) -> Result<String> {
    let log = log(sources)?;
    let head: Vec<String> = TOOLS.iter().map(|tool| format!("<th>{tool}</th>")).collect();
    let mut out = format!(
        "<div class=\"table-wrapper\"><table>\n<thead><tr><th>bug</th><th>right on the GPU</th>{}<th>the interpreter</th></tr></thead>\n<tbody>\n",
        head.concat()
    );
    for bug in &BUGS {
        out += &format!(
            "<tr><td><a href=\"#{0}\">{0}</a></td><td>{1}</td>",
            bug.name,
            ended(log.line(bug.name, "plain")?)
        );
        for tool in TOOLS {
            let line = log.line(bug.name, tool)?;
            let cell = match line.reports {
                Some(0) => "–",
                Some(_) => "found",
                None => "no answer",
            };
            out += &format!("<td>{cell}</td>");
        }
        out += &format!("<td>{}</td></tr>\n", escape(bug.fault.name()));
    }
    Ok(out + "</tbody>\n</table></div>")
}

/// Shows one bug: its kernel, and its runs on the GPU.
pub(crate) fn one(sources: &Sources, name: &str) -> Result<String> {
    let bug = named(name)?;
    let log = log(sources)?;
    let plain = log.line(name, "plain")?;
    let mut found = Vec::new();
    let mut ended = false;
    for tool in TOOLS {
        ended |= log.line(name, tool)?.reports.is_some();
        if log.notices(name, tool)? {
            found.push(tool);
        }
    }
    let went = match (plain.sums, plain.error.as_str()) {
        (None, _) => "the kernel hung and was stopped".to_owned(),
        (Some(_), error) if error != "none" => format!("the run ended with “{}”", escape(error)),
        (Some((right, _)), _) => format!("the sum was right in {right} of {} runs", plain.runs),
    };
    let who = match found.as_slice() {
        [] if !ended => "the four tools did not end, so they gave no answer".to_owned(),
        [] => "none of the four tools found anything".to_owned(),
        found => format!("{} reported the fault", found.join(" and ")),
    };
    let file = format!("zoo/kernels/{name}.cu");
    Ok(format!("{}\n<p>On the H200 {went}; {who}.</p>\n", listing::cuda(&file, bug.source)))
}

/// Implements `{{num zoo WHAT}}`, which shows the number of bugs of a kind.
pub(crate) fn number(sources: &Sources, what: &str) -> Result<Quantity> {
    let log = log(sources)?;
    let mut count = 0;
    for bug in &BUGS {
        let plain = log.line(bug.name, "plain")?;
        let mut noticed = false;
        for tool in TOOLS {
            noticed |= log.notices(bug.name, tool)?;
        }
        let right = plain.sums == Some((plain.runs, 0));
        count += u32::from(match what {
            "bugs" => true,
            "right" => right,
            "unnoticed" => !noticed,
            "right-unnoticed" => right && !noticed,
            tool if TOOLS.contains(&tool) => log.notices(bug.name, tool)?,
            _ => bail!(
                "`num zoo {what}`: use bugs, right, unnoticed, right-unnoticed or {}",
                TOOLS.join(", ")
            ),
        });
    }
    Ok(Quantity::counted(f64::from(count), "results/zoo, by xtask/gpu.sh zoo".into()))
}

/// Implements `{{num zoo WHAT BUG}}`, which shows a result from one bug's runs: `right` is the
/// number of right sums in a thousand runs; the name of a tool gives the number of its reports.
pub(crate) fn of(sources: &Sources, what: &str, bug: &str) -> Result<Quantity> {
    let log = log(sources)?;
    let origin = "results/zoo, by xtask/gpu.sh zoo";
    let count = match what {
        "right" => log.line(bug, "plain")?.sums.map(|(right, _)| right),
        tool if TOOLS.contains(&tool) => log.line(bug, tool)?.reports,
        _ => bail!("`num zoo {what} {bug}`: use right or {}", TOOLS.join(", ")),
    };
    let count = count.with_context(|| format!("the runs of {bug} were stopped"))?;
    Ok(Quantity::counted(f64::from(count), origin.into()))
}

fn named(name: &str) -> Result<&'static Bug> {
    let bug = BUGS.iter().find(|bug| bug.name == name);
    bug.with_context(|| format!("`zoo {name}`: the zoo has no such bug"))
}

fn log(sources: &Sources) -> Result<Log> {
    let log = Log::read(&sources.root.join("results/zoo"))?;
    ensure!(!log.lines.is_empty(), "results/zoo has no zoo.csv");
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "bug,tool,exit,seconds,runs,right,wrong,reports,error\n\
        a,plain,0,0,1000,998,2,,\"none\"\n\
        a,memcheck,0,1,10,10,0,0,\"none\"\n\
        b,plain,0,0,1000,0,0,,\"waiting, then: misaligned\"\n\
        c,plain,137,20,1000,,,,\"\"\n";

    #[test]
    fn lines_are_read_with_their_commas() {
        let lines = parse(CSV).unwrap();
        let of = |bug: &str, tool: &str| &lines[&(bug.to_owned(), tool.to_owned())];
        assert_eq!(ended(of("a", "plain")), "998 of 1000");
        assert_eq!(of("a", "memcheck").reports, Some(0));
        assert_eq!(of("b", "plain").error, "waiting, then: misaligned");
        assert_eq!(
            (ended(of("b", "plain")).as_str(), ended(of("c", "plain")).as_str()),
            ("stopped", "hangs")
        );
        assert!(parse("head\na,plain,0\n").is_err());
    }

    #[test]
    fn the_committed_log_has_every_bug_under_every_tool() {
        let log = Log::read(&xtask::root().join("results/zoo")).unwrap();
        for bug in &BUGS {
            for tool in TOOLS.into_iter().chain(["plain"]) {
                log.line(bug.name, tool).unwrap();
            }
        }
    }
}
