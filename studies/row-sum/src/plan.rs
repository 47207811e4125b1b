//! Plans the launches of each version.

use common::plan::{Arg, Buffer, Holds, Launch, Plan, Problem, Scratch, Stage, additions};

/// The number of elements in a row, as in the notebook.
pub const ROW: u64 = 2048;
/// The number of elements in a short row.
pub const SHORT: u64 = 64;
/// The number of elements in a long row.
pub const LONG: u64 = 1 << 16;

/// The number of elements in a chunk of a row that several blocks share.
const CHUNK: u64 = 1 << 13;

/// A version of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    One,
    Two,
    Three,
    Five,
    Ten,
    OneFixed,
    TwoFixed,
    ThreeFixed,
    FiveFixed,
    TenFixed,
    Tail,
    Wide,
    Lanes,
    Split,
}

impl Way {
    fn entry(self, row: u64) -> String {
        let (accumulators, fixed) = match self {
            Way::One => (1, 0),
            Way::Two => (2, 0),
            Way::Three => (3, 0),
            Way::Five => (5, 0),
            Way::Ten => (10, 0),
            Way::OneFixed => (1, ROW),
            Way::TwoFixed => (2, ROW),
            Way::ThreeFixed => (3, ROW),
            Way::FiveFixed => (5, ROW),
            Way::TenFixed => (10, ROW),
            _ => return "rows".into(),
        };
        // Rows of another length use the entry point for any length.
        format!("rows_{accumulators}_{}", if row == ROW { fixed } else { 0 })
    }
}

/// Makes the plan for rows of this length: a sum for each row, then one sum of all rows.
pub(crate) fn plan(problem: &Problem, way: Way, row: u64) -> Plan {
    let rows = problem.n.div_ceil(row).max(1);
    let lanes = (row * problem.element.size() / 16).clamp(1, 32);
    let mut plan = Plan { launches: Vec::new(), scratch: Vec::new() };
    let mut launch =
        |entry: String, grid: u64, n: u64, holds: Holds, depth: u32, more: Vec<Arg>| {
            let at = plan.scratch.len();
            let input = if at == 0 { Buffer::Input } else { Buffer::Scratch(at - 1) };
            let sums = if entry == "total" { Buffer::Result } else { Buffer::Scratch(at) };
            if sums != Buffer::Result {
                plan.scratch.push(Scratch::Partials(holds.count()));
            }
            let mut args = vec![Arg::Address(input), Arg::Address(sums), Arg::U64(n)];
            args.extend(more);
            plan.launches.push(Launch {
                block: if entry == "total" { 1024 } else { 256 },
                entry,
                grid: u32::try_from(grid).unwrap_or(u32::MAX),
                cluster: 1,
                shared: 0,
                early: false,
                n,
                input,
                args,
                stages: vec![Stage { sums, holds, depth }],
            });
        };
    // An upper bound on the longest chain of additions: those in a thread, in its vectors, in a
    // warp, and in a block, and those of the accumulators and of a remainder.
    let depth = |row: u64, threads: u64| additions(row.div_ceil(threads)) + 10 + 4 + 5 + 5;
    let parts = |each, count| Holds::Chunks { each, count };
    match way {
        Way::Split if row > CHUNK => {
            let chunks = problem.n.div_ceil(CHUNK).max(1);
            let (held, each) = (parts(CHUNK, chunks), row / CHUNK);
            launch(
                "rows".into(),
                chunks,
                problem.n,
                held,
                depth(CHUNK, 256),
                vec![Arg::U64(CHUNK)],
            );
            launch(
                "chunks".into(),
                rows.div_ceil(8),
                chunks,
                parts(each, rows),
                depth(each, 32),
                vec![Arg::U64(each)],
            );
        }
        Way::Lanes => {
            let more = vec![Arg::U64(row), Arg::U32(lanes as u32)];
            let grid = (rows * lanes).div_ceil(256);
            launch("rows".into(), grid, problem.n, parts(row, rows), depth(row, lanes), more);
        }
        _ => {
            let held = parts(row, rows);
            launch(way.entry(row), rows, problem.n, held, depth(row, 256), vec![Arg::U64(row)]);
        }
    }
    launch("total".into(), 1, rows, Holds::ALL, depth(rows, 1024), Vec::new());
    plan
}
