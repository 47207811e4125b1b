//! The kernels of the crate `reduce`: a PTX file for each type, operation and shape, so that a program
//! compiles no more than it calls.

use std::fs;

use anyhow::{Context, Result};
use compiler::Unit;

/// Where the sources lie, from the root of the workspace; a kernel is made of several, in this order.
const SOURCES: &str = "reduce/src/kernels";
const COMMON: [&str; 3] = ["word", "operation", "tile"];

/// A type: its name, what an element is loaded as, what it is added as, and how it is widened.
type Type = (&'static str, &'static str, &'static str, Option<&'static str>);
const TYPES: [Type; 8] = [
    ("f32", "float", "float", None),
    ("f64", "double", "double", None),
    ("i32", "int", "int", None),
    ("u32", "unsigned int", "unsigned int", None),
    ("i64", "long long", "long long", None),
    ("u64", "unsigned long long", "unsigned long long", None),
    ("f16", "unsigned short", "float", Some("HALF")),
    ("bf16", "unsigned short", "float", Some("BFLOAT")),
];

/// The operations: name, and what it is called in the source.
const OPERATIONS: [(&str, &str); 3] = [("sum", "Sum"), ("min", "Min"), ("max", "Max")];

/// A shape: its name and sources, threads of a block, words of a thread in flight, and blocks of a
/// multiprocessor.
#[derive(Clone, Copy, Debug)]
struct Family {
    name: &'static str,
    sources: &'static [&'static str],
    threads: u32,
    rows: u32,
    resident: u32,
}

/// Which texts a shape of rows has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Texts {
    /// One for rows that begin with words, and one for those that do not.
    Either,
    /// Only the latter: the former are no other shape.
    Between,
    /// Only the latter, where memory can be copied in the background, and elements are no halves.
    Copied,
}

const FAMILIES: [Family; 10] = [
    Family { name: "block_32", sources: &["block"], threads: 32, rows: 4, resident: 1 },
    Family { name: "block_256", sources: &["block"], threads: 256, rows: 4, resident: 1 },
    Family { name: "block_1024", sources: &["block"], threads: 1024, rows: 4, resident: 1 },
    Family { name: "spread", sources: &["mailbox", "spread"], threads: 256, rows: 8, resident: 1 },
    Family { name: "chunks", sources: &["mailbox", "chunks"], threads: 512, rows: 8, resident: 2 },
    Family { name: "across", sources: &["mailbox", "across"], threads: 1024, rows: 1, resident: 1 },
    // The stages of a sum over several GPUs.
    Family {
        name: "partials",
        sources: &["shard", "partials"],
        threads: 512,
        rows: 8,
        resident: 2,
    },
    Family { name: "finish", sources: &["tell", "finish"], threads: 512, rows: 1, resident: 1 },
    Family {
        name: "exchange",
        sources: &["shard", "tell", "exchange"],
        threads: 512,
        rows: 8,
        resident: 2,
    },
    Family {
        name: "elements",
        sources: &["mailbox", "tell", "elements"],
        threads: 1024,
        rows: 1,
        resident: 1,
    },
];

/// What adds rows: sums alone, and for all devices, as each text is in every program that takes the
/// crate. Rows that begin between two words have a text of their own, named `across`.
const ROWS: [(Family, Texts); 7] = [
    (family("rows_short", &["rows_short"], 256, 1, 4), Texts::Either),
    (family("rows_lanes", &["rows", "rows_lanes"], 256, 4, 4), Texts::Either),
    (family("rows_block", &["rows", "rows_block"], 256, 4, 4), Texts::Either),
    (family("rows_spread", PARTS, 256, 8, 4), Texts::Either),
    (family("rows_chunks", PARTS, 512, 8, 2), Texts::Either),
    (family("rows_long", PARTS, 512, 8, 2), Texts::Between),
    (family("rows_ring", &["mailbox", "rows", "rows_ring"], 256, 4, 4), Texts::Copied),
];
const PARTS: &[&str] = &["mailbox", "rows", "rows_parts"];

const fn family(
    name: &'static str,
    sources: &'static [&'static str],
    threads: u32,
    rows: u32,
    resident: u32,
) -> Family {
    Family { name, sources, threads, rows, resident }
}

/// One PTX file.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Where it lies, from the root of the workspace.
    pub(crate) path: String,
    /// Its sources, one after the other.
    pub(crate) source: String,
    architecture: u32,
    options: Vec<String>,
}

/// All PTX files of the library.
pub(crate) fn variants() -> Result<Vec<Variant>> {
    let mut variants = Vec::new();
    for of in TYPES {
        for operation in OPERATIONS {
            for family in FAMILIES {
                for &architecture in architectures(of.0, operation.0) {
                    variants.push(variant(of, operation, family, "", architecture)?);
                }
            }
        }
        // Signed integers wrap to the bits of unsigned ones.
        if of.0.starts_with('u') {
            continue;
        }
        for (family, texts) in ROWS {
            if texts == Texts::Either {
                variants.push(rows(of, family, true)?);
            }
            if texts != Texts::Copied || of.3.is_none() {
                variants.push(rows(of, family, false)?);
            }
        }
    }
    Ok(variants)
}

/// A text for rows.
fn rows(of: Type, family: Family, aligned: bool) -> Result<Variant> {
    // Loads of single elements take more registers; chunks of wide types have whole words.
    let words = aligned || matches!(family.name, "rows_chunks" | "rows_long") && of.3.is_none();
    let rows = if words { family.rows } else { family.rows.min(4) };
    // More blocks, where next to no register is spilled, for who reads element by element waits longer.
    let resident = match (family.name, of.0) {
        ("rows_block", "f32" | "i32" | "f64") if !aligned => 6,
        _ => family.resident,
    };
    let architecture = if family.name == "rows_ring" { 90 } else { 70 };
    let family = Family { rows, resident, ..family };
    let suffix = if aligned { "" } else { "_across" };
    let mut variant = variant(of, OPERATIONS[0], family, suffix, architecture)?;
    variant.options.insert(0, format!("-DALIGNED={aligned}"));
    if family.sources == PARTS {
        // Parts one by one, four at once, or both: a text with one way has registers to spare.
        let ways = match (family.name, aligned) {
            (_, true) => 3,
            ("rows_chunks", false) => 2,
            _ => 1,
        };
        variant.options.insert(1, format!("-DWAYS={ways}"));
    }
    Ok(variant)
}

/// One text of it.
fn variant(
    (name, load, add, widen): Type,
    (operation, in_source): (&str, &str),
    family: Family,
    suffix: &str,
    architecture: u32,
) -> Result<Variant> {
    let stem = format!("{name}_{operation}_{}{suffix}", family.name);
    let defined = [
        format!("In={load}"),
        format!("Acc={add}"),
        format!("OPERATION={in_source}"),
        format!("NAME={stem}"),
        format!("THREADS={}", family.threads),
        format!("ROWS={}", family.rows),
        format!("RESIDENT={}", family.resident),
    ];
    let defined = defined.into_iter().chain(widen.map(str::to_owned));
    // The short spelling: stamps are in every program too.
    let defined = defined.map(|name| format!("-D{name}"));
    Ok(Variant {
        path: format!("reduce/src/ptx/{stem}.{architecture}.ptx"),
        source: source(family.sources)?,
        architecture,
        options: defined.chain(["--std=c++17".into()]).collect(),
    })
}

/// What a kernel is compiled for: Hopper too, where one instruction reduces a warp of 32-bit integers,
/// or orders two halves.
fn architectures(name: &str, operation: &str) -> &'static [u32] {
    let redux = matches!(name, "i32" | "u32");
    let pairs = matches!(name, "f16" | "bf16") && operation != "sum";
    if redux || pairs { &[70, 90] } else { &[70] }
}

/// The text of these sources behind those that all have in common.
fn source(names: &[&str]) -> Result<String> {
    let folder = crate::root().join(SOURCES);
    let files = COMMON.iter().chain(names).map(|name| folder.join(format!("{name}.cu")));
    files
        .map(|file| {
            fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))
        })
        .collect()
}

impl Variant {
    /// What a compiler is given. Lines are left out: nobody steps through a library's kernels.
    pub(crate) fn unit(&self) -> Unit<'_> {
        let (source, architecture) = (self.source.as_str(), self.architecture);
        Unit { source, file: "kernel.cu", architecture, options: self.options.clone() }
    }
}

/// PTX without the lines that say nothing: these files are in every program that takes the crate.
pub(crate) fn lean(ptx: &str) -> String {
    let says = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    ptx.lines().filter(says).map(|line| format!("{}\n", words(line))).collect()
}
