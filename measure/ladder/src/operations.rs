//! `ladder operations`: counts, in the interpreter, the instructions per vector for each operation
//! of the crate `reduce`.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use common::{Error, Result, cli::Stop};
use half::{bf16, f16};
use numbers::group;
use reduce::{
    Element, ExactElement, Family, Itself, Kernel, Operation, Read, Shape, Truth, Wide, columns,
    dot, host, lists, moments, rows, select,
    stages::{self, Stage},
};
use simt::{Arg, Counters, Counts, Gpu, Launch, Module};

/// Options of `ladder operations`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Write the PTX of the kernels to this folder instead
    #[arg(long, value_name = "FOLDER")]
    ptx: Option<PathBuf>,

    /// Print the number of PTX templates, and of the kernels that they give, instead
    #[arg(long, conflicts_with = "ptx")]
    templates: bool,
}

/// The registers and the main loop of each kernel in machine code, which `cargo x sass` writes.
const MACHINE: &str = include_str!("../../../book/generated/sass/operations.csv");

/// The number of chunks of the slices, and the number of rows of the matrix.
const CHUNKS: u32 = 2;

/// The numbers of vectors per thread in a chunk, one for each of two launches. The difference
/// between the counts of the two launches is the count of the main loop; each number is a multiple
/// of every loop's batch.
const VECTORS: [u32; 2] = [8, 24];

/// The parameters of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Slice,
    Selection,
    Product,
    Moments,
}

/// An operation on elements of one type.
struct Case {
    name: String,
    element: &'static str,
    size: u64,
    /// Returns the bits of an element, from 32 random bits.
    draw: fn(u32) -> u64,
    kernel: Kernel,
    threads: u32,
    form: Form,
    /// The number of elements between a vector boundary and the start of the last slice.
    shift: u64,
}

/// A type of elements, with its name and the function that draws the bits of an element. Floats are
/// between -1 and 1.
trait Drawn: Element {
    const NAME: &'static str;
    fn draw(random: u32) -> u64;
}

macro_rules! drawn {
    ($($type:ident = $random:ident => $bits:expr;)+) => {$(
        impl Drawn for $type {
            const NAME: &'static str = stringify!($type);
            fn draw($random: u32) -> u64 {
                $bits as u64
            }
        }
    )+};
}
drawn! {
    f32 = random => float(random).to_bits();
    f64 = random => f64::from(float(random)).to_bits();
    bf16 = random => bf16::from_f32(float(random)).to_bits();
    i32 = random => random;
    i8 = random => random >> 24;
    u8 = random => random >> 24;
    i16 = random => random >> 16;
    u16 = random => random >> 16;
}

fn float(random: u32) -> f32 {
    (random >> 8) as f32 / 8_388_608.0 - 1.0
}

/// Prints the table, or writes the kernels.
pub fn run(options: &Options) -> Result<(), Stop> {
    if let Some(folder) = &options.ptx {
        for case in cases() {
            let path = folder.join(case.kernel.name() + ".ptx");
            fs::write(&path, &*case.ptx())
                .map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
        }
        return Ok(());
    }
    let mut out = anstream::stdout();
    if options.templates {
        let [templates, kernels] = [templates()?, kernels().len()].map(|count| count as u64);
        writeln!(out, "{:>6} PTX templates in {TEMPLATES}", group(templates))?;
        writeln!(out, "{:>6} kernels, for every type, operation and shape", group(kernels))?;
        return Ok(());
    }
    let row = |cells: [&str; 7]| {
        let [name, element, ptx, machine, loads, shared, registers] = cells;
        format!("{name:<26}{element:<9}{ptx:>6}{machine:>9}{loads:>7}{shared:>8}{registers:>11}")
    };
    let heads = ["", "elements", "PTX", "machine", "loads", "shared", "registers"];
    writeln!(out, "instructions of a warp for a vector in each lane, in the main loop\n")?;
    writeln!(out, "{}", row(heads))?;
    for case in cases() {
        let counted = case.counted()?;
        let machine = case.machine();
        let per = machine.and_then(|machine| machine.instructions);
        let ptx = format!("{:.1}", counted.instructions);
        let per = per.map_or("-".into(), |count| format!("{count:.1}"));
        let [loads, shared] = [counted.loads, counted.shared].map(short);
        let registers = machine.map_or("-".into(), |machine| {
            format!("{}{}", machine.registers, if machine.spilled { "*" } else { " " })
        });
        let cells = [&case.name, case.element, &ptx, &per, &loads, &shared, &registers];
        writeln!(out, "{}", row(cells).trim_end())?;
    }
    writeln!(out, "\n-: the loop has branches or loads single elements")?;
    writeln!(out, "*: some values are in local memory")?;
    Ok(())
}

/// The folder of the templates.
const TEMPLATES: &str = "reduce/src/ptx";

/// Returns the number of templates, without the PTX of exact sums, which has no placeholders.
fn templates() -> Result<usize> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(TEMPLATES);
    let fail = |error: io::Error| Error::Usage(format!("{}: {error}", folder.display()));
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(fail)? {
        names.push(entry.map_err(fail)?.file_name().to_string_lossy().into_owned());
    }
    Ok(names.iter().filter(|name| name.ends_with(".ptx") && !name.contains("_exact")).count())
}

/// Returns the names of all kernels that are made from the templates.
fn kernels() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    macro_rules! of {
        ($($type:ty)+) => {$(
            names.extend(own::<$type>().map(|kernel| kernel.name()));
            let logical = [Operation::Sum, Operation::Min, Operation::Max].into_iter();
            names.extend(logical.flat_map(read::<$type, Truth>).map(|kernel| kernel.name()));
        )+};
    }
    of!(f32 f64 f16 bf16 i32 u32 i64 u64 i8 u8 i16 u16 bool);
    macro_rules! wide {
        ($($type:ty)+) => {$(
            let kernels = operations::<$type>().flat_map(read::<$type, Wide>);
            names.extend(kernels.chain(products::<$type, Wide>()).map(|kernel| kernel.name()));
        )+};
    }
    wide!(f32 i32 u32);
    names
}

/// Returns the operations on elements of a type.
fn operations<T: Element>() -> impl Iterator<Item = Operation> {
    Operation::ALL.iter().copied().filter(|operation| T::FLOAT || !operation.needs_floats())
}

/// Returns the kernels of an operation for slices, rows, columns, lists and ragged rows.
fn read<T: Read<W>, W>(operation: Operation) -> impl Iterator<Item = Kernel> {
    let slices = Family::ALL.map(|family| reduce::kernel_of::<T, W>(operation, family));
    let rows = rows::Family::ALL.map(|family| reduce::rows_kernel_of::<T, W>(operation, family));
    let queue = lists::kernels_of::<T, W>(operation).map(|(kernel, _)| kernel);
    slices.into_iter().chain(rows).chain(queue).chain([columns::kernel_of::<T, W>(operation)])
}

fn products<T: Read<W>, W>() -> impl Iterator<Item = Kernel> {
    let many = Shape::Chunks { chunks: CHUNKS, vectors: VECTORS[0] };
    [many, Shape::Block { threads: 32 }].map(|shape| dot::kernel_of::<T, W>(shape).0).into_iter()
}

/// Returns the kernels for elements that are combined in their usual type.
fn own<T: Element>() -> impl Iterator<Item = Kernel> {
    let arguments = [select::Family::ArgChunks, select::Family::ArgLanes];
    let extreme = |operation: &Operation| {
        matches!(operation, Operation::Min | Operation::Max | Operation::LargestMagnitude)
    };
    let arguments = operations::<T>()
        .filter(extreme)
        .flat_map(move |operation| arguments.map(|family| select::kernel::<T>(operation, family)));
    let both = [select::Family::ExtremesChunks, select::Family::ExtremesLanes]
        .map(|family| select::kernel::<T>(Operation::Min, family));
    let staged = operations::<T>().filter(|operation| stages::check::<T>(*operation).is_ok());
    let staged =
        staged.flat_map(|operation| Stage::ALL.map(|stage| stages::kernel::<T>(operation, stage)));
    let products = products::<T, Itself>().filter(|_| host::dot::<T>(&[], &[]).is_ok());
    let moments = [moments::kernel::<T>()].into_iter().filter(|_| T::FLOAT);
    let read = operations::<T>().flat_map(read::<T, Itself>);
    read.chain(arguments).chain(both).chain(staged).chain(products).chain(moments)
}

/// Formats a count: an integer has no decimal places, and any other number has one.
fn short(count: f64) -> String {
    if count.fract() == 0.0 { count.to_string() } else { format!("{count:.1}") }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(Operation::ALL.iter().map(|operation| slice::<f32, Itself>(*operation)));
    cases.push(slice::<f32, Truth>(Operation::Sum).named("count of non-zeros"));
    cases.extend(selections::<f32>());
    cases.push(product::<f32, Itself>());
    cases.push(variance::<f32>());
    cases.push(exact::<f32>());
    cases.push(slice::<f32, Wide>(Operation::Sum).named("sum, added as f64"));
    cases.push(product::<f32, Wide>().named("dot product, added as f64"));
    cases.push(unaligned(slice::<f32, Itself>(Operation::Sum)));
    cases.push(unaligned(product::<f32, Itself>()));
    cases.push(slice::<f64, Itself>(Operation::Sum));
    cases.push(variance::<f64>());
    cases.push(exact::<f64>());
    cases.push(slice::<bf16, Itself>(Operation::Sum));
    cases.push(slice::<bf16, Itself>(Operation::Max));
    cases.extend(selections::<bf16>());
    cases.push(product::<bf16, Itself>());
    cases.push(variance::<bf16>());
    cases.push(slice::<i32, Wide>(Operation::Sum).named("sum, added as i64"));
    cases.push(slice::<i16, Itself>(Operation::Sum));
    cases.push(slice::<u16, Itself>(Operation::Max));
    cases.push(slice::<i8, Itself>(Operation::Sum));
    cases.push(slice::<u8, Itself>(Operation::Max));
    cases.push(slice::<u8, Truth>(Operation::Sum).named("count of non-zeros"));
    cases.extend(selections::<i8>());
    cases
}

/// Returns the case for an operation on a slice of many chunks.
fn slice<T: Drawn + Read<W>, W>(operation: Operation) -> Case {
    let kernel = reduce::kernel_of::<T, W>(operation, Family::Chunks);
    let name = operation.name().replace('_', " ");
    case::<T>(name, kernel, Family::Chunks.threads(), Form::Slice)
}

/// Returns the cases for an index and for both extremes. The second extreme is the maximum.
fn selections<T: Drawn>() -> [Case; 2] {
    [
        ("argmax", Operation::Max, select::Family::ArgChunks),
        ("min and max", Operation::Min, select::Family::ExtremesChunks),
    ]
    .map(|(name, operation, family)| {
        let kernel = select::kernel::<T>(operation, family);
        case::<T>(name.to_owned(), kernel, family.threads(), Form::Selection)
    })
}

/// Returns the case for a dot product of slices of many chunks.
fn product<T: Drawn + Read<W>, W>() -> Case {
    let shape = Shape::Chunks { chunks: CHUNKS, vectors: VECTORS[0] };
    let (kernel, threads) = dot::kernel_of::<T, W>(shape);
    case::<T>("dot product".into(), kernel, threads, Form::Product)
}

/// Returns the case for the mean and the variance of long rows.
fn variance<T: Drawn>() -> Case {
    const THREADS: u32 = 256;
    let name = "mean and variance".to_owned();
    case::<T>(name, moments::kernel::<T>(), THREADS, Form::Moments)
}

fn exact<T: Drawn + ExactElement>() -> Case {
    case::<T>("exact sum".into(), T::KERNEL, T::CUT.threads, Form::Slice)
}

fn case<T: Drawn>(name: String, kernel: Kernel, threads: u32, form: Form) -> Case {
    let size = size_of::<T>() as u64;
    Case { name, element: T::NAME, size, draw: T::draw, kernel, threads, form, shift: 0 }
}

/// Returns the case for the same operation with an unaligned last slice.
fn unaligned(case: Case) -> Case {
    let name = format!("{}, unaligned", case.name);
    let kernel = match case.form {
        Form::Slice => reduce::kernel::<f32>(Operation::Sum, Family::Across),
        _ => case.kernel,
    };
    Case { name, kernel, shift: 1, ..case }
}

/// The counts for a warp that reads one vector in each lane.
#[derive(Clone, Copy, Debug)]
struct Counted {
    instructions: f64,
    /// Loads from global memory.
    loads: f64,
    /// Accesses to shared memory, and shuffles.
    shared: f64,
}

/// A kernel in machine code.
#[derive(Clone, Copy, Debug)]
struct Machine {
    registers: u32,
    spilled: bool,
    /// The number of instructions per vector in the main loop; `None` if the loop branches.
    instructions: Option<f64>,
}

impl Case {
    fn ptx(&self) -> Cow<'static, str> {
        self.kernel.ptx(9)
    }

    /// Returns the kernel's line in the table of machine code, unless its PTX has changed.
    fn machine(&self) -> Option<Machine> {
        let (name, hash) = (self.kernel.name(), compiler::source_hash(&self.ptx()));
        let lines = MACHINE.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let line = lines.into_iter().find(|line| line[..2] == [&*name, &*hash])?;
        let [registers, instructions, vectors] =
            [line[2], line[4], line[5]].map(|cell| cell.parse::<u32>().unwrap_or_default());
        let looped = vectors > 0 && self.shift == 0;
        let instructions = looped.then(|| f64::from(instructions) / f64::from(vectors));
        Some(Machine { registers, spilled: line[3] == "true", instructions })
    }

    fn named(self, name: &str) -> Case {
        Case { name: name.into(), ..self }
    }

    /// Returns the counts of the main loop, which are the differences between the counts for a long
    /// input and those for a shorter input.
    fn counted(&self) -> Result<Counted> {
        let [short, long] = VECTORS.map(|each| self.launch(each));
        let (short, long) = (short?, long?);
        let warps = CHUNKS * self.threads / 32;
        let vectors = f64::from(warps * (VECTORS[1] - VECTORS[0]) * self.inputs());
        let per = |of: fn(&Counts) -> u64| (of(&long) - of(&short)) as f64 / vectors;
        Ok(Counted {
            instructions: per(|c| c.warp_insts),
            loads: per(|c| c.global_ld_requests),
            shared: per(|c| c.shared_ld + c.shared_st + c.shuffles + c.atomics),
        })
    }

    fn inputs(&self) -> u32 {
        if self.form == Form::Product { 2 } else { 1 }
    }

    /// Runs the kernel on inputs of `each` vectors for each thread of each chunk, and returns the
    /// counts.
    fn launch(&self, each: u32) -> Result<Counts> {
        let fail = |error: simt::Error| Error::Usage(format!("{}: {error}", self.kernel.name()));
        let module = Module::parse(&self.ptx())
            .map_err(|error| Error::Usage(format!("{}: {error}", self.kernel.name())))?;
        let mut gpu = Gpu::new();
        let vectors = each * self.threads;
        let n = u64::from(vectors * CHUNKS) * 16 / self.size;
        let mut inputs = Vec::new();
        for input in 0..self.inputs() {
            let last = input + 1 == self.inputs();
            let shift = if last { self.shift * self.size } else { 0 };
            let random = |k: u64| ((k + u64::from(input)) as u32).wrapping_mul(2_654_435_761);
            let values = (0..n).map(|k| (self.draw)(random(k).rotate_left(13)).to_le_bytes());
            let bytes: Vec<u8> =
                values.flat_map(|bytes| bytes.into_iter().take(self.size as usize)).collect();
            let at = gpu.alloc(bytes.len() as u64 + shift).map_err(fail)? + shift;
            gpu.write(at, &bytes).map_err(fail)?;
            inputs.push(Arg::U64(at));
        }
        let state = reduce::launch::STATE as u64;
        let mut zeros = || -> Result<Arg> {
            let at = gpu.alloc(state).map_err(fail)?;
            gpu.fill(at, 0, state).map_err(fail)?;
            Ok(Arg::U64(at))
        };
        let (first, second, state) = (zeros()?, zeros()?, zeros()?);
        let mut args = inputs;
        args.push(first);
        match self.form {
            Form::Slice | Form::Product => args.push(Arg::U64(n)),
            Form::Selection => args.extend([second, Arg::U64(1), Arg::U64(n), Arg::U64(n)]),
            Form::Moments => {
                let row = n / u64::from(CHUNKS);
                args.extend([second, Arg::U64(CHUNKS.into()), Arg::U32(row as u32)]);
                args.extend([Arg::U64(row), Arg::U64(0), Arg::U32(self.threads)]);
            }
        }
        if self.form != Form::Moments {
            args.extend([Arg::U32(vectors), Arg::U32(CHUNKS), state, Arg::U32(0)]);
        }
        let launch = Launch {
            entry: &self.kernel.name(),
            grid: [CHUNKS, 1, 1],
            block: [self.threads, 1, 1],
            cluster: [1, 1, 1],
            shared: 0,
            args,
        };
        let mut watch = simt::counting(Counters::default());
        gpu.launch_watched(&module, &launch, Some(&mut watch)).map_err(fail)?;
        Ok(simt::counted(watch).total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'c>(cases: &'c [Case], name: &str, element: &str) -> &'c Case {
        let is = |case: &&Case| case.name == name && case.element == element;
        cases.iter().find(is).unwrap_or_else(|| panic!("no {name} of {element}"))
    }

    fn machine(case: &Case) -> f64 {
        case.machine().and_then(|machine| machine.instructions).unwrap()
    }

    /// Fails if a kernel has changed since `cargo x sass` assembled it.
    #[test]
    fn the_machine_code_is_that_of_the_kernels() {
        for case in cases() {
            assert!(case.machine().is_some(), "{}: run `cargo x sass`", case.kernel.name());
        }
    }

    /// Fails if an aligned vector is not loaded exactly once.
    #[test]
    fn each_vector_is_loaded_once() {
        for case in cases() {
            let loads = case.counted().unwrap().loads;
            assert_eq!(loads, if case.shift == 0 { 1.0 } else { 4.0 }, "{}", case.name);
        }
    }

    /// Checks what `book/src/beyond-the-sum.md` says about the table.
    #[test]
    fn the_page_is_true() {
        const BUDGET: f64 = 111.0;
        let cases = cases();
        let sum = machine(of(&cases, "sum", "f32"));
        assert!((7.0..8.0).contains(&sum), "{sum}");
        for (name, more) in [("sum of magnitudes", 0.0), ("norm", 4.0), ("sum of squares", 4.0)] {
            assert_eq!(machine(of(&cases, name, "f32")), sum + more, "{name}");
        }
        assert!(machine(of(&cases, "count of non-zeros", "f32")) > sum + 4.0);
        for (name, element) in [("sum, added as f64", "f32"), ("sum, added as i64", "i32")] {
            assert_eq!(machine(of(&cases, name, element)), sum + 4.0, "{name}");
        }
        let argmax = machine(of(&cases, "argmax", "f32"));
        assert!(argmax < sum + 8.0, "{argmax}: less than two more for each element");
        // No operation takes fewer instructions for each element than the maximum of halves.
        let least = machine(of(&cases, "max", "bf16")) / 8.0;
        assert_eq!(of(&cases, "exact sum", "f32").counted().unwrap().shared, 8.0);
        for case in &cases {
            let ptx = case.counted().unwrap().instructions;
            assert!(ptx < BUDGET, "{} of {}: {ptx}", case.name, case.element);
            let Some(machine) = case.machine().and_then(|machine| machine.instructions) else {
                continue;
            };
            assert!(machine * case.size as f64 / 16.0 >= least, "{}", case.name);
            if case.name != "exact sum" {
                let bytes = case.size == 1 && case.name != "max";
                let half = machine > BUDGET / 2.0;
                assert_eq!(half, bytes, "{} of {}: {machine}", case.name, case.element);
            }
        }
        let variance = of(&cases, "mean and variance", "bf16").counted().unwrap().instructions;
        assert!(variance > 0.8 * BUDGET, "{variance}");
        for case in &cases {
            let spilled = case.machine().unwrap().spilled;
            let expected =
                case.element == "bf16" && matches!(case.form, Form::Selection | Form::Moments);
            assert_eq!(spilled, expected, "{} of {}", case.name, case.element);
        }
    }

    /// Checks that the page's PTX is in the template and in the kernel.
    #[test]
    fn the_page_quotes_the_kernel() {
        let page = include_str!("../../../book/src/beyond-the-sum.md");
        let quoted = |start: &str| page.lines().find(|line| line.starts_with(start)).unwrap();
        let template = include_str!("../../../reduce/src/ptx/e4a4_chunks.70.ptx");
        assert!(template.lines().any(|line| line == quoted("ADD ")));
        let kernel = slice::<f32, Itself>(Operation::SumOfMagnitudes).ptx().into_owned();
        assert!(kernel.lines().any(|line| line == quoted("{ .reg")));
    }
}
