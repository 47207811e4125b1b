//! Makes tables from the sources: times, ledgers, opcodes and the ladder.

use anyhow::{Context, Result, ensure};
use measured::Role;

use super::{frame::short, highlight::escape};
use crate::book::source::{
    Sources, compilers,
    counts::Case,
    metric::metric,
    quantity::{gigabytes, group, power},
    sass::OPCODES,
    timed::{At, place, speedup, time},
};

/// Formats an HTML table that scrolls in a box of its own.
pub(crate) fn table(caption: &str, head: &[String], rows: &[Vec<String>]) -> String {
    let cells = |tag: &str, cells: &[String]| {
        cells.iter().map(|cell| format!("<{tag}>{cell}</{tag}>")).collect::<String>()
    };
    let body: String = rows.iter().map(|row| format!("<tr>{}</tr>\n", cells("td", row))).collect();
    format!(
        "<div class=\"table-wrapper\"><table class=\"figures\">\n<caption>{caption}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n",
        cells("th", head)
    )
}

/// Formats a step's name as a link to its chapter; if it is `this` step, the name is bold instead.
pub(crate) fn link(name: &str, this: &str) -> String {
    match name == this {
        true => format!("<strong>{name}</strong>"),
        false => format!("<a href=\"{name}.html\">{name}</a>"),
    }
}

fn micros(seconds: f64) -> String {
    format!("{}\u{a0}µs", measured::table::micros(1e9 * seconds))
}

/// Implements `{{times STEP}}`, which shows the times of the step, the previous step and v0, and
/// the minimum time at peak bandwidth.
pub(crate) fn times(sources: &Sources, step: &str) -> Result<String> {
    let run = sources.run(None)?;
    let bus = run.env.gpu.bus_bytes_per_second;
    let sizes: Vec<u64> = [20, 24, 28].map(|p| 1u64 << p).into();
    let mut names = vec![sources.first()?.name.clone()];
    names.extend(sources.before(step)?.map(|before| before.name.clone()));
    names.push(step.to_owned());
    names.dedup();
    let mut head = vec!["step".to_owned()];
    head.extend(sizes.iter().map(|&n| power(n)));
    head.extend(["GB/s".into(), "of peak bandwidth".into()]);
    head.extend(names[..names.len() - 1].iter().map(|name| format!("vs. {}", short(name))));
    let largest = *sizes.last().context("three sizes")?;
    let mut rows = Vec::new();
    for name in &names {
        let mut row = vec![link(name, step)];
        for &n in &sizes {
            row.push(micros(time(sources, At::default(), name, n)?.value));
        }
        let gbps =
            place(largest).bytes() as f64 / time(sources, At::default(), name, largest)?.value;
        row.extend([gigabytes(gbps / 1e9), format!("{:.1}\u{a0}%", 100.0 * gbps / bus)]);
        for base in &names[..names.len() - 1] {
            row.push(match base == name {
                true => "–".into(),
                false => {
                    format!("{:.2}×", speedup(sources, At::default(), name, base, largest)?.value)
                }
            });
        }
        rows.push(row);
    }
    let mut row = vec!["peak bandwidth".to_owned()];
    row.extend(sizes.iter().map(|&n| micros(place(n).bytes() as f64 / bus)));
    row.extend([gigabytes(bus / 1e9), "100\u{a0}%".into()]);
    row.resize(head.len(), "–".into());
    rows.push(row);
    let caption = format!(
        "Median times on one {} for f32, {CLOCK}. The columns to the right of the times are for n = {}; speedups are medians of paired rounds.",
        escape(&run.env.gpu.name),
        power(largest)
    );
    Ok(table(&caption, &head, &rows))
}

/// The conditions under which the tables' times were measured. Each term links to its explanation.
const CLOCK: &str = "<a href=\"measuring.html#the-floor\">GPU-gated</a>, <a href=\"measuring.html#a-gpu-has-two-places-to-hide-the-data\">L2 cold</a>";

/// Implements `{{ladder N PEERS…}}`, which shows all steps at one size.
pub(crate) fn ladder(sources: &Sources, n: u64, peers: &[&str]) -> Result<String> {
    let run = sources.run(None)?;
    let bus = run.env.gpu.bus_bytes_per_second;
    let first = &sources.first()?.name;
    let steps: Vec<&str> = sources.measured()?.map(|kernel| kernel.name.as_str()).collect();
    let mut rows = Vec::new();
    let mut unpaired = Vec::new();
    let mut last: Option<&str> = None;
    for &name in steps.iter().chain(peers) {
        let peer = !steps.contains(&name);
        let seconds = time(sources, At::default(), name, n)?.value;
        let gbps = place(n).bytes() as f64 / seconds;
        let factor = |base: &str| match base == name {
            true => Ok("–".to_owned()),
            false => {
                speedup(sources, At::default(), name, base, n).map(|q| format!("{:.2}×", q.value))
            }
        };
        rows.push(vec![
            if peer { name.to_owned() } else { link(name, "") },
            micros(seconds),
            gigabytes(gbps / 1e9),
            format!("{:.1}\u{a0}%", 100.0 * gbps / bus),
            last.filter(|_| !peer).map_or(Ok("–".into()), factor)?,
            factor(first).unwrap_or_else(|_| {
                unpaired.push(name);
                "–".into()
            }),
        ]);
        last = Some(name);
    }
    let head =
        ["step", "time", "GB/s", "of peak bandwidth", "vs. previous", "vs. v0"].map(str::to_owned);
    let floor = run.env.of(Role::Floor).next();
    let floor = floor.and_then(|floor| run.time(&floor.name, &place(n)));
    let floor = floor.map_or(String::new(), |floor| {
        format!(" An empty kernel takes {}.", micros(floor.median / 1e9))
    });
    let unpaired: String = unpaired
        .iter()
        .map(|name| {
            format!(
                " {name} ran in a separate process, so its times are not paired with those of v0."
            )
        })
        .collect();
    let caption = format!(
        "{} f32 on one {}, {CLOCK}: medians.{floor}{unpaired}",
        power(n),
        escape(&run.env.gpu.name)
    );
    Ok(table(&caption, &head, &rows))
}

/// The mark for a count that the hardware confirms.
const EQUAL: &str = "<span class=\"equal\" title=\"predicted and counted are equal\">✓</span>";

/// A line of the ledger: a count from the interpreter, and the hardware counter for it.
struct Line {
    what: &'static str,
    count: &'static str,
    metrics: &'static [&'static str],
    /// The accesses whose conflicts this line counts; conflicts are the passes beyond the minimum.
    conflicts_of: Option<&'static str>,
    /// An explanation, for example if the two counts are equal by definition, or need not be equal.
    meaning: &'static str,
}

/// The lines of the ledger, in order.
const LEDGER: [Line; 14] = [
    Line {
        what: "warp instructions",
        count: "warp_insts",
        metrics: &["smsp__inst_executed"],
        conflicts_of: None,
        meaning: "the prediction counts PTX and the hardware counts machine code; the instruction sets differ, and so do the counts",
    },
    Line {
        what: "divergent branches",
        count: "divergent_branches",
        metrics: &["smsp__sass_branch_targets_threads_divergent"],
        conflicts_of: None,
        meaning: "branches in the PTX that diverge within a warp; if the compiler uses predicates instead, the hardware counts none",
    },
    Line {
        what: "shared loads",
        count: "shared_ld",
        metrics: &["smsp__sass_inst_executed_op_shared_ld"],
        conflicts_of: None,
        meaning: "loads from shared memory with at least one active lane",
    },
    Line {
        what: "shared stores",
        count: "shared_st",
        metrics: &["smsp__sass_inst_executed_op_shared_st"],
        conflicts_of: None,
        meaning: "stores to shared memory with at least one active lane",
    },
    Line {
        what: "wavefronts for loads",
        count: "shared_ld_wavefronts",
        metrics: &["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld"],
        conflicts_of: None,
        meaning: "passes over the 32 banks",
    },
    Line {
        what: "wavefronts for stores",
        count: "shared_st_wavefronts",
        metrics: &["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st"],
        conflicts_of: None,
        meaning: "passes over the 32 banks",
    },
    Line {
        what: "bank conflicts in loads",
        count: "shared_ld_conflicts",
        metrics: &[
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld",
            "smsp__sass_inst_executed_op_shared_ld",
        ],
        conflicts_of: Some("shared_ld"),
        meaning: "passes beyond those that the access width needs",
    },
    Line {
        what: "bank conflicts in stores",
        count: "shared_st_conflicts",
        metrics: &[
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st",
            "smsp__sass_inst_executed_op_shared_st",
        ],
        conflicts_of: Some("shared_st"),
        meaning: "passes beyond those that the access width needs",
    },
    Line {
        what: "global load requests",
        count: "global_ld_requests",
        metrics: &["l1tex__t_requests_pipe_lsu_mem_global_op_ld"],
        conflicts_of: None,
        meaning: "loads from global memory by a warp",
    },
    Line {
        what: "sectors for loads",
        count: "global_ld_sectors",
        metrics: &["l1tex__t_sectors_pipe_lsu_mem_global_op_ld"],
        conflicts_of: None,
        meaning: "32 bytes each",
    },
    Line {
        what: "block barriers",
        count: "barriers",
        metrics: &["sass__inst_executed_per_opcode:BAR"],
        conflicts_of: None,
        meaning: "executed by a warp",
    },
    Line {
        what: "shuffles",
        count: "shuffles",
        metrics: &["sass__inst_executed_per_opcode:SHFL"],
        conflicts_of: None,
        meaning: "executed by a warp",
    },
    Line {
        what: "atomics",
        count: "atomics",
        metrics: &["sass__inst_executed_per_opcode:ATOMG"],
        conflicts_of: None,
        meaning: "on global memory, executed by a warp",
    },
    Line {
        what: "bytes in copies",
        count: "copied_bytes",
        metrics: &[],
        conflicts_of: None,
        meaning: "copied by the copy engine, without loads by threads",
    },
];

/// Implements `{{ledger STEP}}`, which shows counts as predicted, counted, and explained.
pub(crate) fn ledger(sources: &Sources, step: &str) -> Result<String> {
    let case = Case::of(step);
    let counted = sources.counts.get(&case)?;
    let before = sources.before(step)?;
    let before = before.map(|before| sources.counts.get(&Case::of(&before.name))).transpose()?;
    let blocks = counted.blocks(false);
    let mut rows = Vec::new();
    for line in &LEDGER {
        let predicted = counted.count(line.count, false)? as f64;
        let values: Option<Vec<f64>> = line
            .metrics
            .iter()
            .map(|name| metric(sources, None, &case, name).ok().map(|m| m.value))
            .collect();
        let hardware = values.as_deref().and_then(<[f64]>::split_first);
        let hardware = hardware.map(|(all, less)| all - less.iter().sum::<f64>());
        // The passes that an access of 8 or 16 bytes per lane needs are not conflicts.
        let hardware = match line.conflicts_of {
            Some(access) => {
                let of = |what: &str| counted.count(&format!("{access}{what}"), false);
                let needed = of("_wavefronts")? - of("_conflicts")? - of("")?;
                hardware.map(|value| value - needed as f64)
            }
            None => hardware,
        };
        let last = match &before {
            Some(before) => before.count(line.count, false)?,
            None => 0,
        };
        // A line is left out if neither this step nor the previous step has a predicted or measured
        // count.
        if predicted == 0.0
            && last == 0
            && hardware.is_none_or(|value| value == 0.0)
            && line.count != "divergent_branches"
        {
            continue;
        }
        let verdict = match hardware {
            Some(value) if value == predicted => EQUAL,
            _ => "",
        };
        let compilers = match compilers::agree(sources, step, line.count)? {
            true => "",
            false => "; differs between compilers",
        };
        // Only polls execute a number of atomics that depends on timing.
        let polls = match line.count {
            "atomics" if verdict.is_empty() => "; the number of polling retries depends on timing",
            _ => "",
        };
        let per_block = predicted / blocks as f64;
        rows.push(vec![
            line.what.to_owned(),
            if per_block.fract() == 0.0 {
                format!("{per_block}")
            } else {
                format!("{per_block:.2}")
            },
            group(predicted as u64),
            hardware.map_or("not counted".into(), |value| group(value.max(0.0) as u64)),
            format!("{verdict} {}{polls}{compilers}", line.meaning),
        ]);
    }
    let run = sources.run(None)?;
    let head = ["", "per block", "predicted", "counted", "meaning"].map(str::to_owned);
    let caption = format!(
        "Predicted by the interpreter and counted by the hardware: first launch of {step}, n = {}, {} blocks of {} threads, on one {}. The columns <em>predicted</em> and <em>counted</em> are for the whole launch. {EQUAL} means that the two counts are equal. NVRTC and clang give the same counts unless noted.",
        power(case.n),
        group(blocks),
        case.threads,
        escape(&run.env.gpu.name)
    );
    Ok(table(&caption, &head, &rows)
        .replace("<table class=\"figures\">", "<table class=\"figures ledger\">"))
}

/// Implements `{{ways N}}`, which shows the kernels for a small sum side by side, with the counts
/// for all blocks together.
pub(crate) fn ways(sources: &Sources, n: u64) -> Result<String> {
    const COLUMNS: [(&str, &str, &str); 6] = [
        ("warp_insts", "instructions", ""),
        ("global_ld_requests", "loads", "l1tex__t_requests_pipe_lsu_mem_global_op_ld"),
        ("barriers", "barriers", "sass__inst_executed_per_opcode:BAR"),
        ("shuffles", "shuffles", "sass__inst_executed_per_opcode:SHFL"),
        ("atomics", "atomics", ""),
        ("copied_bytes", "bytes sent", ""),
    ];
    let steps: Vec<&str> = sources.ladder().iter().map(|kernel| kernel.name.as_str()).collect();
    // The kernel with the fewest instructions comes first.
    let mut ways = sources
        .counts
        .at(n)
        .filter(|name| !steps.contains(name))
        .map(|name| {
            let case = Case { n, ..Case::of(name) };
            let counted = sources.counts.get(&case)?;
            Ok((counted.count("warp_insts", true)?, case, counted))
        })
        .collect::<Result<Vec<_>>>()?;
    ways.sort_by_key(|(instructions, ..)| *instructions);
    ensure!(
        !ways.is_empty(),
        "the kernels for small sums are not counted yet: run `cargo x book --outputs`"
    );
    let mut rows = Vec::new();
    for (_, case, counted) in &ways {
        let mut row = vec![case.step.clone()];
        let (mut held, mut differs) = (0, Vec::new());
        for (count, what, name) in COLUMNS {
            let predicted = counted.count(count, true)?;
            row.push(group(predicted));
            let hardware = metric(sources, None, case, name).ok();
            let Some(hardware) = hardware.filter(|_| !name.is_empty()) else { continue };
            held += 1;
            if hardware.value != predicted as f64 {
                differs.push(format!("{what}: {}", group(hardware.value as u64)));
            }
        }
        row.push(match (held, differs.as_slice()) {
            (0, _) => String::new(),
            (_, []) => "equal".to_owned(),
            (_, differs) => differs.join(", "),
        });
        rows.push(row);
    }
    let mut head = vec!["way".to_owned()];
    head.extend(COLUMNS.map(|(_, what, _)| what.to_owned()));
    let mut caption = format!(
        "Counts from the interpreter, such as warp instructions, global loads and block barriers, for {} f32 over all blocks.",
        power(n)
    );
    // Without counts from a GPU, the column would be empty, so it is left out.
    if rows.iter().any(|row| row.last().is_some_and(|cell| !cell.is_empty())) {
        head.push("the hardware".to_owned());
        caption += " The hardware counts are those for loads, barriers and shuffles.";
    } else {
        rows.iter_mut().for_each(|row| row.truncate(head.len()));
    }
    Ok(table(&caption, &head, &rows))
}

/// Implements `{{errors NAME...}}`, which shows the measured distance of each sum from the exact
/// sum.
pub(crate) fn errors(sources: &Sources, names: &[&str]) -> Result<String> {
    let run = sources.run(None)?;
    let sizes = [1 << 20, 1 << 24, 1 << 28, 1 << 30, 1 << 32];
    let mut rows = Vec::new();
    for &name in names {
        let mut row = vec![name.to_owned()];
        row.extend(
            sizes.map(|n| {
                run.error(name, &place(n)).map_or("–".into(), measured::table::billionths)
            }),
        );
        ensure!(
            row[1..].iter().any(|cell| cell != "–"),
            "results/ladder/{} has no sum of {name}: `ladder measure` writes sums.csv",
            run.name
        );
        rows.push(row);
    }
    let head: Vec<_> = [String::new()].into_iter().chain(sizes.map(power)).collect();
    let caption = format!(
        "Distance from the exact sum, in units of 10⁻⁹ of that sum, for random f32 from 0 to 1. The input is the same for all sums, on one {}.",
        escape(&run.env.gpu.name)
    );
    Ok(table(&caption, &head, &rows))
}

/// Implements `{{sass STEP}}`, which shows the opcodes in the machine code of this step and of the
/// previous one.
pub(crate) fn sass(sources: &Sources, step: &str) -> Result<String> {
    let this = sources.sass.get(step)?;
    let before = sources.before(step)?;
    let last = before.map(|before| sources.sass.get(&before.name)).transpose()?;
    let mut rows = Vec::new();
    for (opcode, what) in OPCODES {
        let new = this.count(opcode);
        let old = last.map(|last| last.count(opcode));
        if new == 0 && old.unwrap_or(0) == 0 {
            continue;
        }
        let name =
            if opcode == "all" { "all".to_owned() } else { format!("<code>{opcode}</code>") };
        let mut row = vec![name, what.to_owned()];
        if let Some(old) = old {
            let change = match new as i64 - old as i64 {
                0 => "–".to_owned(),
                change if change < 0 => format!("−{}", -change),
                change => format!("+{change}"),
            };
            row.extend([old.to_string(), new.to_string(), change]);
        } else {
            row.push(new.to_string());
        }
        rows.push(row);
    }
    let mut head = vec!["opcode".to_owned(), "what".to_owned()];
    if let Some(before) = before {
        head.extend([link(&before.name, ""), link(step, step), "change".into()]);
    } else {
        head.push(link(step, step));
    }
    let caption = format!(
        "Instructions in the machine code for sm_90 and blocks of {}. Each instruction is counted once, however often it runs.",
        Case::of(step).threads
    );
    Ok(table(&caption, &head, &rows)
        .replace("<table class=\"figures\">", "<table class=\"figures opcodes\">"))
}
