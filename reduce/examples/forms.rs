//! Writes launches of all forms except slices and rows (indices, extremes, dot products, columns,
//! statistics of rows, lists and ragged rows) to a folder, with their PTX and the bits of the
//! host's results. A script then runs these launches without this crate.
//!
//! ```sh
//! cargo run -p samebits --example forms -- FOLDER
//! ```
//!
//! Each line of `cases.txt` has a name, the kernel, the number of blocks (or `~` and the largest
//! number, if the blocks must be resident), the number of threads in a block, the number of bytes
//! of the state, `inputs;arguments`, and the bits of the results if the host has computed them.

use std::{error::Error, fmt::Write as _, fs, path::Path};

use half::bf16;
use samebits::{
    Accumulator, Columns, Element, Itself, Kernel, Operation, Rows, columns, dot, host, lists,
    log_sum_exp, moments, select, shape,
};

/// The period of an input, in elements: an input repeats after this number of elements.
const PERIOD: u64 = 1_048_583;

/// The size in bytes of the largest input whose results are compared with those of the host. Larger
/// inputs are only timed.
const COMPARED: u64 = 1 << 23;

struct Cases<'f> {
    folder: &'f Path,
    text: String,
}

impl Cases<'_> {
    fn case(
        &mut self,
        name: &str,
        kernel: Kernel,
        launch: (String, u32, u64),
        what: String,
        bits: Option<String>,
    ) -> Result<(), Box<dyn Error>> {
        let path = self.folder.join(kernel.name() + ".ptx");
        if !path.exists() {
            fs::write(path, kernel.ptx(9).as_bytes())?;
        }
        let (kernel, bits) = (kernel.name(), bits.unwrap_or_else(|| "-".into()));
        let (grid, threads, state) = launch;
        writeln!(self.text, "{name} {kernel} {grid} {threads} {state} {what} {bits}")?;
        Ok(())
    }
}

fn hash(k: u64) -> u32 {
    ((k % PERIOD) as u32).wrapping_mul(2_654_435_761)
}

trait Drawn: Element {
    const NAME: &'static str;
    fn draw(h: u32) -> Self;
}

impl Drawn for f32 {
    const NAME: &'static str = "f32";
    fn draw(h: u32) -> f32 {
        (h >> 9) as f32 / 8_388_608.0 - 0.5
    }
}

impl Drawn for f64 {
    const NAME: &'static str = "f64";
    fn draw(h: u32) -> f64 {
        f32::draw(h).into()
    }
}

impl Drawn for bf16 {
    const NAME: &'static str = "bf16";
    fn draw(h: u32) -> bf16 {
        bf16::from_bits((f32::draw(h).to_bits() >> 16) as u16)
    }
}

impl Drawn for i8 {
    const NAME: &'static str = "i8";
    fn draw(h: u32) -> i8 {
        (h >> 24) as i8
    }
}

impl Drawn for i32 {
    const NAME: &'static str = "i32";
    fn draw(h: u32) -> i32 {
        h as i32
    }
}

fn drawn<T: Drawn>(n: u64, from: u64) -> Vec<T> {
    (from..from + n).map(|k| T::draw(hash(k))).collect()
}

/// Returns the bits of values, in memory order.
fn bits<A: Accumulator>(values: impl IntoIterator<Item = A>) -> String {
    let mut text = String::new();
    for value in values {
        for byte in &value.to_bits64().to_le_bytes()[..size_of::<A>()] {
            write!(text, "{byte:02x}").expect("a string has room");
        }
    }
    text
}

fn compared<T>(n: u64) -> bool {
    n * size_of::<T>() as u64 <= COMPARED
}

fn selections<T: Drawn>(cases: &mut Cases<'_>, lengths: &[u64]) -> Result<(), Box<dyn Error>> {
    for (n, rows) in lengths.iter().flat_map(|n| [(*n, 1), (*n, 33)]) {
        if rows > 1 && (n > 100_000 || n.is_power_of_two()) {
            continue;
        }
        let layout = Rows::new(rows, n);
        for sought in [Some(Operation::Max), None] {
            let sizes = [size_of::<T>() as u64, size_of::<T::Output>() as u64];
            let plan = select::plan(layout, sizes, sought.is_some(), |_| u32::MAX).expect("a plan");
            let kernel = select::kernel::<T>(sought.unwrap_or(Operation::Min), plan.family);
            let second = if sought.is_some() { 8 } else { sizes[1] };
            let what = format!(
                "{}:{};in0,out{},out{},u64:{rows},u64:{n},u64:{n},u32:{},u32:{},state,u32:0",
                T::NAME,
                rows * n,
                rows * sizes[1],
                rows * second,
                plan.each,
                plan.chunks
            );
            let expected = compared::<T>(rows * n).then(|| {
                let values = drawn::<T>(rows * n, 0);
                match sought {
                    Some(operation) => {
                        let found = host::find_rows(&values, operation, layout).expect("rows");
                        bits(found.iter().map(|found| found.value))
                            + ","
                            + &bits(found.iter().map(|found| found.index))
                    }
                    None => {
                        let both = host::min_max_rows(&values, layout).expect("rows");
                        bits(both.iter().map(|both| both.0))
                            + ","
                            + &bits(both.iter().map(|both| both.1))
                    }
                }
            });
            let grid =
                if plan.chunks > 1 { format!("~{}", plan.grid) } else { plan.grid.to_string() };
            let form = if sought.is_some() { "argmax" } else { "min_max" };
            let name = format!("{form}/{}/{rows}x{n}", T::NAME);
            cases.case(&name, kernel, (grid, plan.family.threads(), plan.state), what, expected)?;
        }
    }
    Ok(())
}

fn dots<T: Drawn>(cases: &mut Cases<'_>, lengths: &[u64]) -> Result<(), Box<dyn Error>> {
    for n in lengths {
        let shape = shape::pick(*n, size_of::<T>() as u64).expect("a shape");
        let (kernel, _) = dot::kernel_of::<T, Itself>(shape);
        let value = size_of::<T::Output>() as u64;
        let what = format!(
            "{0}:{n}+{0}:{n};in0,in1,out{value},u64:{n},u32:{1},u32:{2},state,u32:0",
            T::NAME,
            shape.vectors(),
            shape.chunks()
        );
        let expected = compared::<T>(*n).then(|| {
            let (a, b) = (drawn::<T>(*n, 0), drawn::<T>(*n, 77));
            bits([host::dot(&a, &b).expect("two slices")])
        });
        let state = 16 + 2 * value * u64::from(shape.values());
        let launch = (format!("~{}", shape.chunks()), shape.threads(), state);
        cases.case(&format!("dot/{}/{n}", T::NAME), kernel, launch, what, expected)?;
    }
    Ok(())
}

fn matrices<T: Drawn>(cases: &mut Cases<'_>, all: &[(u64, u64)]) -> Result<(), Box<dyn Error>> {
    for (rows, inner) in all {
        let layout = Columns::new(*rows, *inner);
        let value = size_of::<T::Output>() as u64;
        let plan = columns::plan(layout, [size_of::<T>() as u64, value], 0).expect("a plan");
        let what = format!(
            "{}:{};in0,out{},u64:{rows},u64:{inner},u64:{inner},u64:{},u64:{inner},u32:{},u32:{},u32:{},u32:{},u32:{},state,state+{}",
            T::NAME,
            rows * inner,
            inner * value,
            rows * inner,
            plan.shape.vectors(),
            plan.shape.chunks(),
            plan.shape.threads(),
            plan.split,
            u32::from(plan.two),
            plan.counters()
        );
        let expected = compared::<T>(rows * inner).then(|| {
            let values = drawn::<T>(rows * inner, 0);
            bits(host::reduce_columns(&values, Operation::Sum, layout).expect("columns"))
        });
        let launch = (plan.grid.to_string(), columns::THREADS, plan.bytes(value));
        let kernel = columns::kernel_of::<T, Itself>(Operation::Sum);
        cases.case(
            &format!("columns/{}/{rows}x{inner}", T::NAME),
            kernel,
            launch,
            what,
            expected,
        )?;
    }
    Ok(())
}

fn variances<T: Drawn>(cases: &mut Cases<'_>, all: &[(u64, u64)]) -> Result<(), Box<dyn Error>> {
    for (count, elements) in all {
        let rows = Rows::new(*count, *elements);
        let [grid, threads] = moments::plan(rows, size_of::<T>() as u64);
        let value = count * size_of::<T::Output>() as u64;
        let what = format!(
            "{}:{};in0,out{value},out{value},u64:{count},u32:{elements},u64:{elements},u64:1,u32:{threads}",
            T::NAME,
            count * elements
        );
        let expected = compared::<T>(count * elements).then(|| {
            let values = drawn::<T>(count * elements, 0);
            let (means, variances) = host::moments_rows(&values, rows, 1).expect("rows");
            bits(means) + "," + &bits(variances)
        });
        let name = format!("moments/{}/{count}x{elements}", T::NAME);
        let kernel = moments::kernel::<T>();
        cases.case(&name, kernel, (grid.to_string(), 256, 0), what, expected)?;
    }
    Ok(())
}

fn log_sum_exps<T: Drawn>(cases: &mut Cases<'_>, all: &[(u64, u64)]) -> Result<(), Box<dyn Error>> {
    for (count, elements) in all {
        let rows = Rows::new(*count, *elements);
        let [grid, threads] = log_sum_exp::plan(rows, size_of::<T>() as u64);
        let what = format!(
            "{}:{};in0,out{},u64:{count},u32:{elements},u64:{elements},u32:{threads}",
            T::NAME,
            count * elements,
            count * size_of::<T::Output>() as u64
        );
        let expected = compared::<T>(count * elements).then(|| {
            let values = drawn::<T>(count * elements, 0);
            bits(host::log_sum_exp_rows(&values, rows).expect("rows"))
        });
        let name = format!("log_sum_exp/{}/{count}x{elements}", T::NAME);
        let kernel = log_sum_exp::kernel::<T>();
        cases.case(&name, kernel, (grid.to_string(), 256, 0), what, expected)?;
    }
    Ok(())
}

/// Adds a case for a list of slices with these lengths. The slices are consecutive and aligned in
/// one input.
fn list<T: Drawn>(
    cases: &mut Cases<'_>,
    name: &str,
    lengths: &[u64],
) -> Result<(), Box<dyn Error>> {
    let width = 16 / size_of::<T>() as u64;
    let (mut places, mut end) = (Vec::new(), 0);
    for n in lengths {
        places.push((end * size_of::<T>() as u64, *n));
        end += n.next_multiple_of(width);
    }
    let queued = lists::queue(places.iter().copied(), size_of::<T>() as u64).expect("a queue");
    let file = format!("{name}.{}.items", T::NAME);
    let words: Vec<u8> = queued.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(cases.folder.join(&file), words)?;
    let (value, count) = (size_of::<T::Output>() as u64, lengths.len() as u64);
    let own = 16 + queued.messages * 2 * value;
    let what = format!(
        "{}:{end};items:{file},null,u64:{},out{},out{value},u64:{count},u64:{},state,state+{own}",
        T::NAME,
        queued.items(),
        count * value,
        queued.elements
    );
    let expected = compared::<T>(end).then(|| {
        let values = drawn::<T>(end, 0);
        let slice = |(at, n): &(u64, u64)| &values[*at as usize / size_of::<T>()..][..*n as usize];
        let slices: Vec<&[T]> = places.iter().map(slice).collect();
        let (each, all) = host::reduce_list(&slices, Operation::Norm).expect("slices");
        bits(each) + "," + &bits([all])
    });
    let [(kernel, threads), _] = lists::kernels_of::<T, Itself>(Operation::Norm);
    let launch = (format!("~{}", queued.items()), threads, own + 2 * value * count);
    cases.case(&format!("list/{}/{name}", T::NAME), kernel, launch, what, expected)
}

/// Adds a case for ragged rows. The script runs the case's launch, which has the prefix `ragged`,
/// and then launches the queue.
fn ragged<T: Drawn>(
    cases: &mut Cases<'_>,
    name: &str,
    lengths: &[u64],
) -> Result<(), Box<dyn Error>> {
    let ends = lengths.iter().scan(0, |end, n| {
        *end += n;
        Some(*end)
    });
    let offsets: Vec<u64> = [0].into_iter().chain(ends).collect();
    let (n, rows) = (offsets[offsets.len() - 1], lengths.len() as u64);
    let file = format!("{name}.offsets");
    let words: Vec<u8> = offsets.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(cases.folder.join(&file), words)?;
    let [capacity, messages] = lists::ragged_room(n, size_of::<T>() as u64);
    let value = size_of::<T::Output>() as u64;
    let own = 16 + messages * 2 * value;
    let expected = compared::<T>(n).then(|| {
        let values = drawn::<T>(n, 0);
        bits(host::reduce_ragged(&values, Operation::Sum, &offsets).expect("offsets"))
    });
    let [(adds, threads), (puts, few)] = lists::kernels_of::<T, Itself>(Operation::Sum);
    let what = format!(
        "{}:{n};in0,items:{file},u32:1,u64:{n},out{},u64:{rows},room:{},u64:{capacity},u64:{messages},state+{own},zero",
        T::NAME,
        rows * value,
        capacity * 48
    );
    let launch = (rows.div_ceil(few.into()).to_string(), few, own + 24);
    cases.case(&format!("ragged/{}/{name}", T::NAME), puts, launch, what, expected)?;
    let what = format!("again;room,state+{own},u64:{capacity},out,null,u64:0,u64:0,state,null");
    let launch = (format!("~{capacity}"), threads, 0);
    cases.case(&format!("ragged2/{}/{name}", T::NAME), adds, launch, what, None)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: forms FOLDER")?;
    fs::create_dir_all(&folder)?;
    let mut cases = Cases { folder: Path::new(&folder), text: String::new() };
    let some = [33, 1_025, 20_003, 1_048_589];
    let powers = (10..=28).step_by(2).map(|power| 1 << power);
    // Twenty lengths that are spread evenly between 2^10 and 2^28 on a logarithmic scale, in steps of the golden ratio.
    let drawn = (1..=20u64).map(|k| {
        let place = (k as f64 * 0.618_033_988_75).fract();
        (10.0 + 18.0 * place).exp2() as u64
    });
    let all: Vec<u64> = some.into_iter().chain(powers).chain(drawn).collect();
    selections::<f32>(&mut cases, &all)?;
    selections::<bf16>(&mut cases, &all)?;
    selections::<i8>(&mut cases, &all)?;
    selections::<f64>(&mut cases, &some)?;
    selections::<i32>(&mut cases, &some)?;
    dots::<f32>(&mut cases, &all)?;
    dots::<bf16>(&mut cases, &all)?;
    dots::<f64>(&mut cases, &some)?;
    dots::<i32>(&mut cases, &some)?;
    let small = [(33, 65), (1_025, 130), (20_003, 33), (20_003, 3), (200_003, 3)];
    let wide = [
        (1 << 7, 1 << 21),
        (1 << 10, 1 << 18),
        (1 << 12, 1 << 12),
        (1 << 14, 1 << 14),
        (1 << 18, 1 << 10),
        (1 << 21, 1 << 7),
    ];
    matrices::<f32>(&mut cases, &small)?;
    matrices::<f32>(&mut cases, &wide)?;
    matrices::<bf16>(&mut cases, &small)?;
    matrices::<bf16>(&mut cases, &wide)?;
    matrices::<i8>(&mut cases, &small)?;
    matrices::<f64>(&mut cases, &small)?;
    let small = [(33, 3), (9, 511), (3, 5_001), (100, 1_000)];
    let batches = [(1 << 19, 1 << 7), (1 << 16, 1 << 10), (1 << 14, 1 << 12), (1 << 11, 1 << 15)];
    variances::<f32>(&mut cases, &small)?;
    variances::<bf16>(&mut cases, &small)?;
    variances::<f64>(&mut cases, &small)?;
    variances::<f32>(&mut cases, &batches)?;
    variances::<bf16>(&mut cases, &batches)?;
    log_sum_exps::<f32>(&mut cases, &small)?;
    log_sum_exps::<bf16>(&mut cases, &small)?;
    log_sum_exps::<f64>(&mut cases, &small)?;
    log_sum_exps::<f32>(&mut cases, &batches)?;
    log_sum_exps::<bf16>(&mut cases, &batches)?;
    log_sum_exps::<f64>(&mut cases, &batches)?;
    let mixed = [1, 0, 513, 33, 5_000, 20_001, 2, 60_001, 255, 700_001];
    list::<f32>(&mut cases, "small", &[1, 0, 513, 33, 5_000, 20_001])?;
    list::<f32>(&mut cases, "mixed", &mixed)?;
    list::<bf16>(&mut cases, "mixed", &mixed)?;
    // The tensors of the 16 layers of Llama 3.2 1B (hidden size 2048, intermediate size 8192, 8
    // heads of 64 for keys and values): 973 M elements, without the embedding.
    let layer = [
        2048 * 2048,
        2048 * 512,
        2048 * 512,
        2048 * 2048,
        2048 * 8192,
        2048 * 8192,
        8192 * 2048,
        2048,
        2048,
    ];
    let model: Vec<u64> = layer.repeat(16).into_iter().chain([2048]).collect();
    list::<f32>(&mut cases, "llama", &model[..9 * 4])?;
    list::<bf16>(&mut cases, "llama", &model)?;
    ragged::<f32>(
        &mut cases,
        "mixed",
        &[3, 0, 1, 4, 5, 33, 0, 700, 513, 17, 2, 20_001, 5_000, 60_001, 3, 400_000],
    )?;
    ragged::<bf16>(&mut cases, "small", &[3, 0, 1, 4, 5, 33, 0, 700, 513, 17, 2, 20_001])?;
    let uniform = vec![64; 1 << 20];
    let power: Vec<u64> = (1..1u64 << 16).map(|i| (1 << 25) / (i * 16) + 1).collect();
    let giant: Vec<u64> = (0..1_000_000).map(|i| if i == 500_000 { 1 << 26 } else { 3 }).collect();
    let empty: Vec<u64> = (0..1_000_000).map(|i| if i == 500_000 { 1 << 26 } else { 0 }).collect();
    for (name, lengths) in
        [("uniform", uniform), ("power", power), ("giant", giant), ("empty", empty)]
    {
        ragged::<f32>(&mut cases, name, &lengths)?;
    }
    println!("{} launches are in {folder}", cases.text.lines().count());
    fs::write(cases.folder.join("cases.txt"), cases.text)?;
    Ok(())
}
