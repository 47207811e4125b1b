//! Lists the kernels of the crate `reduce`. There is a PTX file for each shape and layout of the
//! elements. The crate inserts the instructions of an operation into a file, so that a program
//! compiles only the kernels that it calls.

use std::fs;

use anyhow::{Context, Result};
use compiler::Unit;

/// The folder of the sources, relative to the workspace.
const SOURCES: &str = "reduce/src/kernels";
const COMMON: [&str; 5] = ["types", "vector", "answer", "operation", "tile"];
const COMMON_EXACT: [&str; 3] = ["exact_types", "vector", "answer"];

/// The sizes in bytes of an element in memory, of a thread's accumulators, and of the values that
/// threads and blocks exchange.
#[derive(Clone, Copy, Debug)]
struct Layout {
    name: &'static str,
    element: u32,
    local: u32,
    value: u32,
    /// Whether an accumulator adds two elements with one instruction. Such a layout has no kernels
    /// for rows.
    pairs: bool,
    /// Whether there are stages for several GPUs.
    stages: bool,
    /// Whether there are dot products.
    products: bool,
    /// Whether there are selections. Widened elements have no selections.
    selects: bool,
}

const LAYOUTS: [Layout; 7] = [
    Layout { stages: true, products: true, ..layout("e4a4", 4, 4, 4) },
    Layout { stages: true, products: true, ..layout("e8a8", 8, 8, 8) },
    Layout { stages: true, products: true, ..layout("e2a4", 2, 4, 4) },
    Layout { stages: true, pairs: true, selects: false, ..layout("p2a4", 2, 4, 4) },
    // A thread adds at most 2^19 small integers to each of its accumulators, so 32 bits are enough.
    layout("e1a8", 1, 4, 8),
    layout("e2a8", 2, 4, 8),
    Layout { products: true, selects: false, ..layout("e4a8", 4, 8, 8) },
];

const fn layout(name: &'static str, element: u32, local: u32, value: u32) -> Layout {
    Layout {
        name,
        element,
        local,
        value,
        pairs: false,
        stages: false,
        products: false,
        selects: true,
    }
}

/// The types of exact sums: the name, the type in which an element is loaded, the type to which the
/// sum is rounded, and the way in which an element is widened.
type Type = (&'static str, &'static str, &'static str, Option<&'static str>);
const TYPES: [Type; 4] = [
    ("f32", "float", "float", None),
    ("f64", "double", "double", None),
    ("f16", "unsigned short", "float", Some("HALF")),
    ("bf16", "unsigned short", "float", Some("BFLOAT")),
];

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
    /// Only the file for unaligned rows, on architectures with asynchronous copies; such a copy has
    /// at least four bytes.
    Asynchronous,
}

const FAMILIES: [Family; 6] = [
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
];

/// The stages of a reduction over several GPUs.
const STAGES: [Family; 4] = [
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

/// The kernels for rows. Unaligned rows have a separate file, named `across`.
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

/// The kernel for columns.
const COLUMNS: Family = family("columns", &["columns"], 512, 1, 2);

/// The kernel for slices whose chunks are in a queue, and the kernel that puts ragged rows into the
/// queue.
const QUEUE: Family = family("queue", &["messages", "queue"], 512, 4, 3);
const RAGGED: Family = family("ragged", &["ragged"], 256, 1, 4);

/// The kernels for statistics of rows of floats, each of which is read by a warp or a block: means
/// and variances, and log-sum-exps.
const STATISTICS: [Family; 2] = [
    family("moments", &["statistics", "moments"], 256, 4, 4),
    family("log_sum_exp", &["statistics", "log_sum_exp"], 256, 4, 4),
];

/// The kernels of dot products: for many chunks, and for all other shapes.
const DOT: [Family; 2] = [
    family("dot_chunks", &["messages", "dot", "dot_chunks"], 512, 4, 2),
    family("dot_few", &["messages", "dot", "dot_few"], 1024, 4, 1),
];

/// The kernels whose results do not depend on the order of elements: those for slices and long
/// rows, and those for short rows.
const SELECTIONS: [Family; 4] = [
    family("arg_chunks", &["select", "arg", "select_chunks"], 512, 8, 2),
    family("arg_lanes", &["select", "arg", "select_lanes"], 256, 4, 4),
    family("extremes_chunks", &["select", "extremes", "select_chunks"], 512, 8, 2),
    family("extremes_lanes", &["select", "extremes", "select_lanes"], 256, 4, 4),
];

/// Returns the kernels of exact sums for a type: those for slices and rows, and the one for dot
/// products. Their architecture is the same for all devices. The numbers of threads are the same as
/// in `cut.rs`.
fn exact(name: &str) -> ([Family; 2], Family) {
    let (slice, rows, dot) = match name {
        "f32" => ((FLOATS, 512, 4, 2), FLOATS_ROWS, (PRODUCTS, 512, 2, 2)),
        "f64" => ((DOUBLES, 1024, 4, 1), DOUBLES_ROWS, (WIDE, 512, 2, 2)),
        "f16" => ((HALVES, 256, 4, 4), HALVES_ROWS, (PRODUCTS_OF_HALVES, 256, 2, 4)),
        _ => ((BFLOAT, 256, 2, 5), BFLOAT_ROWS, (PRODUCTS, 512, 2, 2)),
    };
    let exact =
        |(sources, threads, loads, resident)| family("exact", sources, threads, loads, resident);
    ([exact(slice), family("exact_rows", rows, 256, 4, 4)], exact(dot))
}
const FLOATS: &[&str] = &["exact", "exact_columns", "exact_floats", "exact_flight", "exact_entry"];
const FLOATS_ROWS: &[&str] =
    &["exact", "exact_columns", "exact_floats", "exact_flight", "exact_rows"];
const DOUBLES: &[&str] =
    &["exact", "exact_columns", "exact_doubles", "exact_flight", "exact_entry"];
const DOUBLES_ROWS: &[&str] =
    &["exact", "exact_columns", "exact_doubles", "exact_flight", "exact_rows"];
const HALVES: &[&str] = &["exact", "exact_halves", "exact_flight", "exact_entry"];
const HALVES_ROWS: &[&str] = &["exact", "exact_halves", "exact_flight", "exact_rows"];
const BFLOAT: &[&str] = &["exact", "exact_columns", "exact_bfloat", "exact_flight", "exact_entry"];
const BFLOAT_ROWS: &[&str] =
    &["exact", "exact_columns", "exact_bfloat", "exact_flight", "exact_rows"];
const PRODUCTS: &[&str] = &["exact", "exact_columns", "exact_doubles", "exact_dot"];
const PRODUCTS_OF_HALVES: &[&str] = &["exact", "exact_halves", "exact_dot"];
const WIDE: &[&str] = &["exact", "exact_columns", "exact_wide", "exact_dot"];

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
    /// The concatenated sources of the file.
    pub(crate) source: String,
    architecture: u32,
    options: Vec<String>,
}

/// Returns all PTX files of the library.
pub(crate) fn variants() -> Result<Vec<Variant>> {
    let mut variants = Vec::new();
    for layout in LAYOUTS {
        for family in FAMILIES {
            variants.push(variant(layout, family, "", 70)?);
        }
        // Half-precision values are finished like `f32` values.
        for family in STAGES.into_iter().filter(|stage| {
            layout.stages && (stage.name != "finish" || layout.element == layout.value)
        }) {
            variants.push(variant(layout, family, "", 70)?);
        }
        // Elements of these layouts are floating-point numbers.
        if matches!(layout.name, "e4a4" | "e8a8" | "e2a4") {
            for family in STATISTICS {
                variants.push(variant(layout, family, "", 70)?);
            }
        }
        for family in DOT.into_iter().filter(|_| layout.products) {
            variants.push(variant(layout, family, "", 70)?);
        }
        for family in SELECTIONS.into_iter().filter(|_| layout.selects) {
            // A vector of 16 bytes takes many instructions, so fewer vectors are loaded at a time.
            let rows = if layout.element == 1 { 4 } else { family.rows };
            variants.push(variant(layout, Family { rows, ..family }, "", 70)?);
        }
        if !layout.pairs {
            for family in [COLUMNS, QUEUE, RAGGED] {
                variants.push(variant(layout, family, "", 70)?);
            }
        }
        for (family, files) in ROWS.into_iter().filter(|_| !layout.pairs) {
            if files == Files::Both {
                variants.push(rows(layout, family, true)?);
            }
            if files != Files::Asynchronous || layout.element >= 4 {
                variants.push(rows(layout, family, false)?);
            }
        }
    }
    for of in TYPES {
        let (sums, dot) = exact(of.0);
        for family in sums {
            variants.push(exact_variant(of, "sum", family)?);
        }
        let mut variant = exact_variant(of, "dot", dot)?;
        variant.options.insert(0, "-DPRODUCTS".into());
        variants.push(variant);
    }
    Ok(variants)
}

/// Returns the PTX file for a shape of rows.
fn rows(layout: Layout, family: Family, aligned: bool) -> Result<Variant> {
    // Loads of single elements need more registers; chunks of wide types have whole vectors.
    let words =
        aligned || matches!(family.name, "rows_chunks" | "rows_long") && layout.element >= 4;
    let rows = if words { family.rows } else { family.rows.min(4) };
    // Loads of single elements have more latency to hide, so more blocks are resident if this
    // spills only a few registers.
    let resident = match family.name {
        "rows_block" if !aligned && layout.element >= 4 => 6,
        _ => family.resident,
    };
    let architecture = if family.name == "rows_ring" { 90 } else { 70 };
    let family = Family { rows, resident, ..family };
    let suffix = if aligned { "" } else { "_across" };
    let mut variant = variant(layout, family, suffix, architecture)?;
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

/// Returns the PTX file for a shape and a layout. The crate replaces the name of the file's entry
/// point.
fn variant(layout: Layout, family: Family, suffix: &str, architecture: u32) -> Result<Variant> {
    let Layout { element, local, value, pairs, .. } = layout;
    let defined = [
        format!("-DELEMENT={element}"),
        format!("-DLOCAL={local}"),
        format!("-DVALUE={value}"),
        format!("-DPAIRS={}", u32::from(pairs)),
    ];
    Ok(Variant {
        path: format!("reduce/src/ptx/{}_{}{suffix}.{architecture}.ptx", layout.name, family.name),
        source: source(&COMMON, family.sources)?,
        architecture,
        options: defined.into_iter().chain(options(family, "KERNEL")).collect(),
    })
}

/// Returns one of the files of exact sums.
fn exact_variant(
    (name, load, add, widen): Type,
    operation: &str,
    family: Family,
) -> Result<Variant> {
    let stem = format!("{name}_{operation}_{}", family.name);
    let (element, value) = (if widen.is_some() { 2 } else { size(load) }, size(add));
    let defined = [
        format!("-DIn={load}"),
        format!("-DAcc={add}"),
        format!("-DELEMENT={element}"),
        format!("-DVALUE={value}"),
    ];
    let defined = defined.into_iter().chain(widen.map(|name| format!("-D{name}")));
    Ok(Variant {
        path: format!("reduce/src/ptx/{stem}.70.ptx"),
        source: source(&COMMON_EXACT, family.sources)?,
        architecture: 70,
        options: defined.chain(options(family, &stem)).collect(),
    })
}

fn size(float: &str) -> u32 {
    if float == "double" { 8 } else { 4 }
}

/// Returns the options for the parameters of a shape. The options are short, because every program
/// contains them in the stamps.
fn options(family: Family, name: &str) -> [String; 5] {
    [
        format!("-DNAME={name}"),
        format!("-DTHREADS={}", family.threads),
        format!("-DROWS={}", family.rows),
        format!("-DRESIDENT={}", family.resident),
        "--std=c++17".into(),
    ]
}

/// Returns the common sources and the named sources, concatenated.
fn source(common: &[&str], names: &[&str]) -> Result<String> {
    let folder = crate::root().join(SOURCES);
    let files = common.iter().chain(names).map(|name| folder.join(format!("{name}.cu")));
    files
        .map(|file| {
            fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))
        })
        .collect()
}

impl Variant {
    /// Returns the unit to compile. The PTX has no line information, because users do not step
    /// through a library's kernels.
    pub(crate) fn unit(&self) -> Unit<'_> {
        let (source, architecture) = (self.source.as_str(), self.architecture);
        Unit { source, file: "kernel.cu", architecture, options: self.options.clone() }
    }
}

/// Removes lines that have no effect from PTX, because every program that uses the crate contains
/// these files.
pub(crate) fn lean(ptx: &str) -> String {
    let says = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    // The compiler numbers calls in all files of a run, so a comment would depend on the other
    // files.
    let code = |line: &str| line.split("// callseq").next().unwrap_or_default().to_owned();
    let words = |line: &str| code(line).split_whitespace().collect::<Vec<_>>().join(" ");
    ptx.lines().filter(says).map(|line| format!("{}\n", words(line))).collect()
}
