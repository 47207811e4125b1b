//! The kernels of the crate `reduce`: a PTX file for each type, operation and shape, so that a program
//! compiles no more than it calls.

use std::fs;

use anyhow::{Context, Result};
use compiler::Unit;

/// Where the sources lie, from the root of the workspace; a kernel is made of several, in this order.
const SOURCES: &str = "reduce/src/kernels";
const COMMON: [&str; 3] = ["word", "operation", "tile"];

/// The types: name, what an element is loaded as, what it is added as, and how it is widened.
const TYPES: [(&str, &str, &str, Option<&str>); 8] = [
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

const FAMILIES: [Family; 9] = [
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
    Family { name: "finish", sources: &["finish"], threads: 512, rows: 1, resident: 1 },
    Family {
        name: "exchange",
        sources: &["shard", "exchange"],
        threads: 512,
        rows: 8,
        resident: 2,
    },
];

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
    for (name, load, add, widen) in TYPES {
        for (operation, in_source) in OPERATIONS {
            for family in FAMILIES {
                for &architecture in architectures(name, operation) {
                    let stem = format!("{name}_{operation}_{}", family.name);
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
                    let defined = defined.map(|name| format!("--define-macro={name}"));
                    variants.push(Variant {
                        path: format!("reduce/src/ptx/{stem}.{architecture}.ptx"),
                        source: source(family.sources)?,
                        architecture,
                        options: defined.chain(["--std=c++17".into()]).collect(),
                    });
                }
            }
        }
    }
    Ok(variants)
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
