//! The kernels of the crate `reduce`. There is a PTX file for each type, operation and shape, so
//! that a program compiles only the kernels that it calls.

use std::fs;

use anyhow::{Context, Result};
use compiler::Unit;

/// The folder of the sources, relative to the workspace.
const SOURCES: &str = "reduce/src/kernels";
const COMMON: [&str; 3] = ["vector", "operation", "tile"];

/// A type: its name, the types in which an element is loaded and added, and the way in which it is
/// widened.
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

/// The operations: the name, and the name in the source.
const OPERATIONS: [(&str, &str); 3] = [("sum", "Sum"), ("min", "Min"), ("max", "Max")];

/// A shape: its name and sources, the threads per block, the vectors in flight per thread, and the
/// resident blocks per multiprocessor.
#[derive(Clone, Copy, Debug)]
struct Family {
    name: &'static str,
    sources: &'static [&'static str],
    threads: u32,
    rows: u32,
    resident: u32,
}

/// The PTX files for a shape of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    /// One file for aligned rows, and one for unaligned rows.
    Both,
    /// Only the file for unaligned rows, because aligned rows have another shape.
    Unaligned,
    /// Only the file for unaligned rows, on architectures with asynchronous copies; there is none
    /// for halves.
    Asynchronous,
}

const FAMILIES: [Family; 10] = [
    Family { name: "block_32", sources: &["block"], threads: 32, rows: 4, resident: 1 },
    Family { name: "block_256", sources: &["block"], threads: 256, rows: 4, resident: 1 },
    Family { name: "block_1024", sources: &["block"], threads: 1024, rows: 4, resident: 1 },
    Family { name: "spread", sources: &["messages", "spread"], threads: 256, rows: 8, resident: 1 },
    Family { name: "chunks", sources: &["messages", "chunks"], threads: 512, rows: 8, resident: 2 },
    Family {
        name: "across",
        sources: &["messages", "across"],
        threads: 1024,
        rows: 1,
        resident: 1,
    },
    // The stages of a sum over several GPUs.
    Family {
        name: "partials",
        sources: &["shard", "partials"],
        threads: 512,
        rows: 8,
        resident: 2,
    },
    Family { name: "finish", sources: &["failure", "finish"], threads: 512, rows: 1, resident: 1 },
    Family {
        name: "exchange",
        sources: &["shard", "failure", "exchange"],
        threads: 512,
        rows: 8,
        resident: 2,
    },
    Family {
        name: "elements",
        sources: &["messages", "failure", "elements"],
        threads: 1024,
        rows: 1,
        resident: 1,
    },
];

/// The kernels for rows. They only compute sums, and they have one architecture for all devices,
/// because every program that uses the crate contains every file. Unaligned rows have a separate
/// file, named `across`.
const ROWS: [(Family, Files); 7] = [
    (family("rows_short", &["rows_short"], 256, 1, 4), Files::Both),
    (family("rows_lanes", &["rows", "rows_lanes"], 256, 4, 4), Files::Both),
    (family("rows_block", &["rows", "rows_block"], 256, 4, 4), Files::Both),
    (family("rows_spread", CHUNKS, 256, 8, 4), Files::Both),
    (family("rows_chunks", CHUNKS, 512, 8, 2), Files::Both),
    (family("rows_long", CHUNKS, 512, 8, 2), Files::Unaligned),
    (family("rows_ring", &["messages", "rows", "rows_ring"], 256, 4, 4), Files::Asynchronous),
];
const CHUNKS: &[&str] = &["messages", "rows", "rows_chunks"];

/// The kernels for exact sums: floats and halves use bins, and doubles use levels. They have one
/// architecture for all devices.
const EXACT: [Family; 3] = [
    family("exact", &["exact", "exact_bins", "exact_entry"], 256, 8, 4),
    family("exact", &["exact", "exact_bins", "exact_entry"], 256, 4, 4),
    family("exact", &["exact", "exact_levels", "exact_entry"], 256, 4, 4),
];

/// The exact sums of rows, for the same types.
const EXACT_ROWS: [Family; 3] = [
    family("exact_rows", &["exact", "exact_bins", "exact_rows"], 256, 8, 4),
    family("exact_rows", &["exact", "exact_bins", "exact_rows"], 256, 4, 4),
    family("exact_rows", &["exact", "exact_levels", "exact_rows"], 256, 4, 4),
];

/// The kernels for exact dot products of floats and halves.
const DOT: Family = family("exact", &["exact", "exact_levels", "exact_dot"], 256, 2, 4);

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
    /// The path of the file, relative to the workspace.
    pub(crate) path: String,
    /// The sources of the file, concatenated.
    pub(crate) source: String,
    architecture: u32,
    options: Vec<String>,
}

/// Returns all PTX files of the library.
pub(crate) fn variants() -> Result<Vec<Variant>> {
    let mut variants = Vec::new();
    for of in TYPES {
        for operation in OPERATIONS {
            for family in FAMILIES.into_iter().filter(|family| is_own(of, operation.0, *family)) {
                for &architecture in architectures(of.0, operation.0) {
                    variants.push(variant(of, operation, family, "", architecture)?);
                }
            }
        }
        let exact = match of.0 {
            "f32" => Some(0),
            "f16" | "bf16" => Some(1), // A vector of eight elements needs more code.
            "f64" => Some(2),
            _ => None,
        };
        for family in exact.into_iter().flat_map(|at| [EXACT[at], EXACT_ROWS[at]]) {
            variants.push(variant(of, OPERATIONS[0], family, "", 70)?);
        }
        if matches!(of.0, "f32" | "f16" | "bf16") {
            let mut variant = variant(of, ("dot", "Sum"), DOT, "", 70)?;
            variant.options.insert(0, "-DPRODUCTS".into());
            variants.push(variant);
        }
        for (family, files) in ROWS.into_iter().filter(|rows| is_own(of, "sum", rows.0)) {
            if files == Files::Both {
                variants.push(rows(of, family, true)?);
            }
            if files != Files::Asynchronous || of.3.is_none() {
                variants.push(rows(of, family, false)?);
            }
        }
    }
    Ok(variants)
}

/// Returns whether a type has a separate file. Sums of unsigned integers are bit-identical to those
/// of signed integers, and sums of halves are finished as floats.
fn is_own(of: Type, operation: &str, family: Family) -> bool {
    let unsigned = of.0.starts_with('u') && operation == "sum";
    let half = of.3.is_some() && family.name == "finish";
    !unsigned && !half
}

/// Returns the PTX file for a shape of rows.
fn rows(of: Type, family: Family, aligned: bool) -> Result<Variant> {
    // Loads of single elements need more registers; chunks of wide types have whole vectors.
    let words = aligned || matches!(family.name, "rows_chunks" | "rows_long") && of.3.is_none();
    let rows = if words { family.rows } else { family.rows.min(4) };
    // More blocks are resident if few registers are spilled, because loads of single elements have
    // more latency to hide.
    let resident = match (family.name, of.0) {
        ("rows_block", "f32" | "i32" | "f64") if !aligned => 6,
        _ => family.resident,
    };
    let architecture = if family.name == "rows_ring" { 90 } else { 70 };
    let family = Family { rows, resident, ..family };
    let suffix = if aligned { "" } else { "_across" };
    let mut variant = variant(of, OPERATIONS[0], family, suffix, architecture)?;
    variant.options.insert(0, format!("-DALIGNED={aligned}"));
    if family.sources == CHUNKS {
        // Chunks are added one at a time, four at a time, or both; a kernel with only one loop uses
        // fewer registers.
        let ways = match (family.name, aligned) {
            (_, true) => 3,
            ("rows_chunks", false) => 2,
            _ => 1,
        };
        variant.options.insert(1, format!("-DWAYS={ways}"));
    }
    Ok(variant)
}

/// Returns one of the files.
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
    // The name is short, because every program contains the stamps.
    let defined = defined.map(|name| format!("-D{name}"));
    Ok(Variant {
        path: format!("reduce/src/ptx/{stem}.{architecture}.ptx"),
        source: source(family.sources)?,
        architecture,
        options: defined.chain(["--std=c++17".into()]).collect(),
    })
}

/// Returns the architectures of a kernel. They include Hopper if one of its instructions reduces a
/// warp of 32-bit integers or compares two halves.
fn architectures(name: &str, operation: &str) -> &'static [u32] {
    let redux = matches!(name, "i32" | "u32");
    let pairs = matches!(name, "f16" | "bf16") && operation != "sum";
    if redux || pairs { &[70, 90] } else { &[70] }
}

/// Returns the concatenated common and named sources.
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
    /// Returns the unit to compile. It has no line information, because users do not step through a
    /// library's kernels.
    pub(crate) fn unit(&self) -> Unit<'_> {
        let (source, architecture) = (self.source.as_str(), self.architecture);
        Unit { source, file: "kernel.cu", architecture, options: self.options.clone() }
    }
}

/// Removes lines from PTX that have no effect, because every program that uses the crate contains
/// these files.
pub(crate) fn lean(ptx: &str) -> String {
    let says = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    // The compiler numbers calls in all files of a run, so a comment would depend on the other files.
    let code = |line: &str| line.split("// callseq").next().unwrap_or_default().to_owned();
    let words = |line: &str| code(line).split_whitespace().collect::<Vec<_>>().join(" ");
    ptx.lines().filter(says).map(|line| format!("{}\n", words(line))).collect()
}
