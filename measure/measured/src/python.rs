//! The files in `results/python/`, which contain samples of sums in Python by samebits, torch, CuPy
//! and JAX, and the tables made from them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize;

use crate::{
    Result,
    pair::Ratio,
    sample::read_csv,
    stats::Summary,
    table::{Table, micros},
};

/// A sample in `sums.csv.gz`: the time of one call, or the mean over several calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The function, such as `torch.sum`.
    pub way: String,
    /// The timer: `gpu` measures with events on the device; `host` measures until the result is on
    /// the host; `call` measures until the call returns.
    pub clock: String,
    /// The number of rows; 1 means a sum of all elements.
    pub rows: u64,
    /// The number of elements in each row.
    pub elements: u64,
    /// The round. The calls in a round were made one after another.
    pub round: u32,
    /// The time in nanoseconds.
    pub ns: u64,
}

/// A sample in `batches.csv.gz`: the result for one row in a batch, and the time of the batch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batched {
    /// The function: `sum` or `mean`.
    pub function: String,
    /// The library: `torch` or `samebits`.
    pub way: String,
    /// The number of elements in each row.
    pub elements: u64,
    /// The number of rows.
    pub batch: u64,
    /// The bits of the row's result, in hexadecimal digits.
    pub bits: String,
    /// The round. The calls in a round were made one after another.
    pub round: u32,
    /// The time in nanoseconds.
    pub ns: u64,
}

/// A sample in `start.csv`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// The measured quantity, and its unit.
    pub what: String,
    /// The number of the process.
    pub process: u32,
    /// The value, in the unit that `what` names.
    pub value: u64,
}

/// A sample in `cubek.csv.gz` or `candle.csv.gz`: the time and the bits of one call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// The function.
    pub way: String,
    /// The timer, as in [`Call`].
    pub clock: String,
    /// The number of elements.
    pub elements: u64,
    /// The round. The calls in a round were made one after another.
    pub round: u32,
    /// The time in nanoseconds.
    pub ns: u64,
    /// The bits of the sum, in hexadecimal digits.
    pub bits: String,
}

/// The functions from other libraries, each with the samebits function that it is paired with.
const PAIRS: [(&str, &str); 3] = [
    ("torch.sum", "samebits of torch"),
    ("cupy.sum", "samebits of cupy"),
    ("jnp.sum", "samebits of jax"),
];

type Times = Vec<(u32, u64)>;

fn median(times: &Times) -> Option<f64> {
    Some(Summary::of(times.iter().map(|(_, ns)| *ns as f64))?.median)
}

/// Returns the peer's time, the time of samebits and their ratio, as cells.
fn pair(peer: Option<&Times>, ours: Option<&Times>) -> [String; 3] {
    let (Some(peer), Some(ours)) = (peer, ours) else { return [(); 3].map(|()| "–".into()) };
    let time = |times| median(times).map_or_else(|| "–".into(), micros);
    let ratio = Ratio::of(peer, ours).map_or_else(|| "–".into(), |ratio| ratio.to_string());
    [time(peer), time(ours), ratio]
}

/// Formats the samples on a timer, for sums of all elements or of rows. Each shape has a line, and
/// each framework has three columns: its time, the time of samebits on the framework's arrays, and
/// the ratio.
pub fn sums(folder: &Path, clock: &str, by_rows: bool) -> Result<String> {
    let mut shapes: BTreeMap<(u64, u64), BTreeMap<String, Times>> = BTreeMap::new();
    for call in read_csv::<Call>(&folder.join("sums.csv.gz"))? {
        if call.clock == clock && (call.rows > 1) == by_rows {
            let ways = shapes.entry((call.elements, call.rows)).or_default();
            ways.entry(call.way).or_default().push((call.round, call.ns));
        }
    }
    let there =
        PAIRS.into_iter().filter(|(peer, _)| shapes.values().any(|ways| ways.contains_key(*peer)));
    let there: Vec<_> = there.collect();
    let head = if by_rows { "rows × elements" } else { "elements" };
    let heads = there
        .iter()
        .flat_map(|(peer, _)| [format!("`{peer}` µs"), "samebits µs".into(), "ratio".into()]);
    let mut table = Table::new([head.to_owned()].into_iter().chain(heads));
    for ((elements, rows), ways) in &shapes {
        let shape = match by_rows {
            true => format!("{} × {}", numbers::size(*rows), numbers::size(*elements)),
            false => numbers::size(*elements),
        };
        let cells = there.iter().flat_map(|(peer, ours)| pair(ways.get(*peer), ways.get(*ours)));
        table.row([shape].into_iter().chain(cells));
    }
    Ok(table.to_string())
}

/// Formats a line for each function and row length, with the number of different bit patterns of
/// one row's result over all batches, and the cost of a batch.
pub fn batches(folder: &Path) -> Result<String> {
    type Ways = BTreeMap<String, (BTreeSet<String>, BTreeMap<u64, Times>)>;
    let mut lines: BTreeMap<(String, u64), Ways> = BTreeMap::new();
    for one in read_csv::<Batched>(&folder.join("batches.csv.gz"))? {
        let ways = lines.entry((one.function, one.elements)).or_default();
        let (bits, times) = ways.entry(one.way).or_default();
        bits.insert(one.bits);
        times.entry(one.batch).or_default().push((one.round, one.ns));
    }
    let all = lines.values().flat_map(|ways| ways.values().flat_map(|(_, times)| times.keys()));
    let all: BTreeSet<u64> = all.copied().collect();
    let shown: Vec<u64> = [1, 64, 4096].into_iter().filter(|batch| all.contains(batch)).collect();
    let heads = ["function", "row length", "bit patterns: torch", "samebits"].map(str::to_owned);
    let costs = shown.iter().flat_map(|batch| {
        [format!("batch {batch}: torch µs"), "samebits µs".into(), "ratio".into()]
    });
    let mut table = Table::new(heads.into_iter().chain(costs));
    for ((function, elements), ways) in &lines {
        let of = |way: &str| ways.get(way);
        let count = |way| of(way).map_or_else(|| "–".into(), |(bits, _)| bits.len().to_string());
        let costs = shown.iter().flat_map(|batch| {
            let times = |way| of(way).and_then(|(_, times)| times.get(batch));
            pair(times("torch"), times("samebits"))
        });
        let head = [function.clone(), numbers::group(*elements), count("torch"), count("samebits")];
        table.row(head.into_iter().chain(costs));
    }
    Ok(table.to_string())
}

/// Formats the medians in `start.csv`, in the order of that file.
pub fn start(folder: &Path) -> Result<String> {
    let mut lines: Vec<(String, Vec<f64>)> = Vec::new();
    for one in read_csv::<Started>(&folder.join("start.csv"))? {
        match lines.iter_mut().find(|(what, _)| *what == one.what) {
            Some((_, values)) => values.push(one.value as f64),
            None => lines.push((one.what, vec![one.value as f64])),
        }
    }
    let mut table = Table::new(["quantity", "median", "least", "most", "processes"]);
    for (what, values) in lines {
        let (what, unit, scale) = match what.rsplit_once(' ') {
            Some((what, "ns")) => (what.to_owned(), "ms", 1e6),
            Some((what, "bytes")) => (what.to_owned(), "MB", 1e6),
            _ => (what, "", 1.0),
        };
        let values = numbers::sorted(values);
        let cell = |q| format!("{:.2} {unit}", numbers::quantile(&values, q) / scale);
        table.row([what, cell(0.5), cell(0.0), cell(1.0), values.len().to_string()]);
    }
    Ok(table.to_string())
}

/// Formats the samples from another library's program: a line for each length, with the median of
/// each function and the number of bit patterns over its calls.
pub fn peer(folder: &Path, name: &str, clock: &str) -> Result<String> {
    let mut ways: Vec<String> = Vec::new();
    let mut lines: BTreeMap<u64, BTreeMap<String, (Times, BTreeSet<String>)>> = BTreeMap::new();
    for one in read_csv::<Peer>(&folder.join(format!("{name}.csv.gz")))? {
        if one.clock != clock {
            continue;
        }
        if !ways.contains(&one.way) {
            ways.push(one.way.clone());
        }
        let (times, bits) = lines.entry(one.elements).or_default().entry(one.way).or_default();
        times.push((one.round, one.ns));
        bits.insert(one.bits);
    }
    let heads = ways.iter().flat_map(|way| [format!("{way} µs"), "bits".into()]);
    let mut table = Table::new(["elements".to_owned()].into_iter().chain(heads));
    for (elements, line) in &lines {
        let cells = ways.iter().flat_map(|way| match line.get(way) {
            Some((times, bits)) => {
                [median(times).map_or_else(|| "–".into(), micros), bits.len().to_string()]
            }
            None => ["–".to_owned(), "–".to_owned()],
        });
        table.row([numbers::size(*elements)].into_iter().chain(cells));
    }
    Ok(table.to_string())
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    #[test]
    fn tables_have_a_line_for_each_shape_and_count_bits() {
        let folder = std::env::temp_dir().join(format!("measured-python-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, head: &str, lines: Vec<String>| {
            let text = format!("{head}\n{}\n", lines.join("\n"));
            let mut packed = GzEncoder::new(Vec::new(), Compression::default());
            packed.write_all(text.as_bytes()).unwrap();
            let packed = packed.finish().unwrap();
            let bytes = if name.ends_with(".gz") { packed } else { text.into_bytes() };
            fs::write(folder.join(name), bytes).unwrap();
        };
        let rounds = |line: &str, ns: u32| {
            let line = line.to_owned();
            (0..40u32).map(move |round| format!("{line},{round},{}", ns + round % 2))
        };
        let mut calls: Vec<String> = rounds("torch.sum,gpu,1,1024", 4000).collect();
        calls.extend(rounds("samebits of torch,gpu,1,1024", 2000));
        calls.extend(rounds("torch.sum,gpu,32,1024", 4000));
        write("sums.csv.gz", "way,clock,rows,elements,round,ns", calls);
        let table = sums(&folder, "gpu", false).unwrap();
        assert!(table.contains("4.00") && table.contains("2.00") && table.contains("2^10"));
        assert!(!table.contains("cupy"), "{table}");
        let rows = sums(&folder, "gpu", true).unwrap();
        assert!(rows.contains("32 × 2^10") && rows.contains('–'), "{rows}");

        let mut batched: Vec<String> = Vec::new();
        for (batch, bits) in [(1, "a"), (64, "b"), (100, "a")] {
            batched.extend(rounds(&format!("sum,torch,128,{batch},{bits}"), 4000));
            batched.extend(rounds(&format!("sum,samebits,128,{batch},a"), 4000));
        }
        write("batches.csv.gz", "function,way,elements,batch,bits,round,ns", batched);
        let table = batches(&folder).unwrap();
        let line = table.lines().last().unwrap().replace(' ', "");
        assert!(line.starts_with("|sum|128|2|1|4.00|4.00|1.000"), "{table}");

        let started = ["wheel bytes,0,2000000", "import ns,0,3000000", "import ns,1,5000000"];
        write("start.csv", "what,process,value", started.map(str::to_owned).to_vec());
        let table = start(&folder).unwrap();
        assert!(table.contains("2.00 MB") && table.contains("4.00 ms"), "{table}");

        let calls = ["a,host,64,0,3000,ff", "a,host,64,1,5000,fe", "a,gpu,64,0,9000,fd"];
        write(
            "cubek.csv.gz",
            "way,clock,elements,round,ns,bits",
            calls.map(str::to_owned).to_vec(),
        );
        let table = peer(&folder, "cubek", "host").unwrap();
        assert!(table.lines().last().unwrap().replace(' ', "").contains("|64|4.00|2|"), "{table}");
        fs::remove_dir_all(folder).unwrap();
    }
}
