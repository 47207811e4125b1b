//! Reads the files `volume.csv` and `threshold.csv`, and formats their tables. The first file
//! contains the times for adding the matrices of a large file in pieces. The second file contains
//! the times for adding a few matrices on the CPU alone, on the GPU alone, and on both together.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    env::read_toml,
    sample::read_csv,
    table::{Table, micros},
};

/// The file `matrices.toml`, which describes the machine on which the passes ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// A description of the GPU, in one line.
    pub gpu: String,
    /// The size of the device memory for two pieces, in bytes.
    pub volume: u64,
}

impl About {
    /// Reads a `matrices.toml` file.
    pub fn read(path: &Path) -> Result<About> {
        read_toml(path)
    }
}

/// The times at which a piece of a file was copied and added, in microseconds since the pass began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// The order of the numbers: `row` or `column`.
    pub order: String,
    /// The number of matrices in the file.
    pub matrices: u64,
    /// The kind of the pass: `copy`, `both` or `file`.
    pub pass: String,
    /// The round. The passes in a round were made one after another.
    pub round: u32,
    /// The number of the piece.
    pub piece: u32,
    /// The time when the piece's copy began.
    pub copied: f64,
    /// The time when the piece's copy ended.
    pub copied_end: f64,
    /// The time when the piece's sum began.
    pub added: f64,
    /// The time when the piece's sum ended.
    pub added_end: f64,
}

impl Piece {
    /// Reads a file of pieces.
    pub fn read(path: &Path) -> Result<Vec<Piece>> {
        read_csv(path)
    }
}

/// The wall time until the caller has four sums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waited {
    /// The number of matrices.
    pub matrices: u64,
    /// The kernel that ran.
    pub way: String,
    /// The memory that holds the matrices: `device` or `host`.
    pub from: String,
    /// The number of matrices that were left to the CPU, or 1 if the GPU added everything.
    pub left: u64,
    /// The round. The calls in a round were made one after another.
    pub round: u32,
    /// The time in nanoseconds.
    pub ns: u64,
}

impl Waited {
    /// Reads a file of calls.
    pub fn read(path: &Path) -> Result<Vec<Waited>> {
        read_csv(path)
    }
}

fn median(values: &[f64]) -> f64 {
    numbers::quantile(&numbers::sorted(values.iter().copied()), 0.5)
}

/// Groups passes by order and name. Each round has two values: the total time, and the time for the
/// sums.
fn passes(pieces: &[Piece]) -> BTreeMap<(&str, &str), BTreeMap<u32, [f64; 2]>> {
    let mut passes: BTreeMap<(&str, &str), BTreeMap<u32, [f64; 2]>> = BTreeMap::new();
    for piece in pieces {
        let rounds = passes.entry((&piece.order, &piece.pass)).or_default();
        let [all, added] = rounds.entry(piece.round).or_default();
        *all = all.max(piece.added_end).max(piece.copied_end);
        *added += piece.added_end - piece.added;
    }
    passes
}

/// Formats a line for each order, with the time for the copies alone, for copies and sums together,
/// for the sums alone, and for copies and sums together with reading the file.
pub fn volume(pieces: &[Piece]) -> String {
    let passes = passes(pieces);
    let mut table = Table::new([
        "order",
        "bytes",
        "pieces",
        "copy alone ms",
        "GB/s",
        "copied and added ms",
        "vs. the copy alone",
        "sums alone ms",
        "read, copied and added ms",
    ]);
    for order in ["row", "column"] {
        let of = |pass: &'static str| passes.get(&(order, pass));
        let (Some(copy), Some(both), Some(file)) = (of("copy"), of("both"), of("file")) else {
            continue;
        };
        let Some(first) = pieces.iter().find(|piece| piece.order == order) else { continue };
        let count = pieces.iter().filter(|p| p.order == order).map(|p| p.piece + 1).max();
        let times = |rounds: &BTreeMap<u32, [f64; 2]>, which: usize| {
            median(&rounds.values().map(|times| times[which]).collect::<Vec<f64>>())
        };
        // Times are compared within a round, because the speed of the copy depends on other load on
        // the host.
        let ratios: Vec<f64> =
            both.iter().filter_map(|(round, times)| Some(times[0] / copy.get(round)?[0])).collect();
        let bytes = 16 * first.matrices;
        let alone = times(copy, 0);
        table.row([
            order.to_owned(),
            numbers::size(bytes),
            count.unwrap_or(0).to_string(),
            format!("{:.2}", alone / 1e3),
            format!("{:.1}", bytes as f64 / alone / 1e3),
            format!("{:.2}", times(both, 0) / 1e3),
            format!("{:.3}×", median(&ratios)),
            format!("{:.3}", times(both, 1) / 1e3),
            format!("{:.1}", times(file, 0) / 1e3),
        ]);
    }
    table.to_string()
}

/// Formats a line for each number of matrices: the times for the CPU alone, for the GPU alone, and
/// for both together, with each kind of memory.
pub fn threshold(waited: &[Waited]) -> String {
    let mut times: BTreeMap<(u64, &str, &str, u64), Vec<f64>> = BTreeMap::new();
    for call in waited {
        let key = (call.matrices, call.way.as_str(), call.from.as_str(), call.left);
        times.entry(key).or_default().push(call.ns as f64);
    }
    let mut counts: Vec<u64> = waited.iter().map(|call| call.matrices).collect();
    counts.dedup();
    let mut table = Table::new([
        "matrices",
        "the CPU µs",
        "one launch µs",
        "from the host µs",
        "launches to one µs",
        "the CPU finishes µs",
        "from this many",
    ]);
    for matrices in counts {
        let of = |way: &str, from: &str, left: u64| {
            times.get(&(matrices, way, from, left)).map(|times| median(times))
        };
        let told = |time: Option<f64>| time.map_or_else(|| "–".into(), micros);
        // The numbers of matrices that may be left to the CPU, excluding zero and the total.
        let finish = times
            .iter()
            .filter(|((count, way, from, left), _)| {
                *count == matrices && *way == "first" && *from == "device" && *left > 1
            })
            .map(|((.., left), times)| (median(times), *left))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        table.row([
            numbers::size(matrices),
            told(of("first", "host", matrices).filter(|_| matrices > 1)),
            told(of("one-pass", "device", 1)),
            told(of("one-pass", "host", 1)),
            told(of("first", "device", 1)),
            told(finish.map(|(time, _)| time)),
            finish.map_or_else(|| "–".into(), |(_, left)| numbers::size(left)),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(pass: &str, round: u32, piece: u32, times: [f64; 4]) -> Piece {
        let [copied, copied_end, added, added_end] = times;
        Piece {
            order: "row".into(),
            matrices: 1 << 20,
            pass: pass.into(),
            round,
            piece,
            copied,
            copied_end,
            added,
            added_end,
        }
    }

    #[test]
    fn a_pass_ends_with_its_last_sum() {
        let pieces = [
            piece("copy", 0, 0, [0.0, 100.0, 100.0, 100.0]),
            piece("copy", 0, 1, [100.0, 200.0, 200.0, 200.0]),
            piece("both", 0, 0, [0.0, 100.0, 100.0, 130.0]),
            piece("both", 0, 1, [100.0, 200.0, 200.0, 230.0]),
            piece("file", 0, 0, [900.0, 1000.0, 1000.0, 1030.0]),
        ];
        let text = volume(&pieces);
        for cell in [
            "| row ",
            " 2^24 ",
            " 2 |",
            " 0.20 ",
            " 0.23 ",
            " 1.150× ",
            " 0.060 ",
            " 83.9 ",
            " 1.0 ",
        ] {
            assert!(text.contains(cell), "{cell}: {text}");
        }
        assert_eq!(text.lines().count(), 3, "{text}");
    }

    #[test]
    fn an_order_has_its_own_pieces() {
        let mut pieces = Vec::new();
        for (order, count) in [("row", 2), ("column", 3)] {
            for (pass, at) in
                ["copy", "both", "file"].into_iter().flat_map(|p| (0..count).map(move |at| (p, at)))
            {
                pieces.push(Piece {
                    order: order.into(),
                    ..piece(pass, 0, at, [0.0, 100.0, 100.0, 130.0])
                });
            }
        }
        let text = volume(&pieces);
        let count = |order: &str| {
            let line = text.lines().find(|line| line.contains(order)).unwrap();
            line.split('|').nth(3).unwrap().trim().to_owned()
        };
        assert_eq!(["| row ", "| column "].map(count), ["2", "3"], "{text}");
    }

    #[test]
    fn pieces_and_calls_are_read_with_their_columns() {
        let path = std::env::temp_dir().join(format!("matrices-{}.csv", std::process::id()));
        std::fs::write(
            &path,
            "order,matrices,pass,round,piece,copied,copied_end,added,added_end\nrow,1048576,both,3,7,0.5,1.5,2.5,3.5\n",
        )
        .unwrap();
        assert_eq!(Piece::read(&path).unwrap(), [piece("both", 3, 7, [0.5, 1.5, 2.5, 3.5])]);
        std::fs::write(&path, "matrices,way,from,left,round,ns\n5,first,device,1,0,900\n").unwrap();
        assert_eq!(Waited::read(&path).unwrap(), [waited(5, "first", "device", 1, 900)]);
        std::fs::remove_file(path).unwrap();
    }

    fn waited(matrices: u64, way: &str, from: &str, left: u64, ns: u64) -> Waited {
        Waited { matrices, way: way.into(), from: from.into(), left, round: 0, ns }
    }

    #[test]
    fn the_fastest_split_between_gpu_and_cpu_is_named() {
        let others = [
            waited(1 << 10, "first", "device", 4, 1000),
            waited(1 << 20, "first", "device", 1, 2000),
            waited(1 << 20, "first", "device", 4, 9000),
            waited(1 << 20, "first", "host", 8, 3000),
            waited(1 << 20, "one-pass", "device", 16, 4000),
        ];
        let text = threshold(&others);
        let cells: Vec<&str> = text.lines().last().unwrap().split('|').map(str::trim).collect();
        assert_eq!(cells[6..8], ["9.00", "4"], "{text}");
    }

    #[test]
    fn a_single_matrix_leaves_nothing_for_the_cpu() {
        let text = threshold(&[waited(1, "first", "host", 1, 500)]);
        assert!(!text.contains("0.50"), "{text}");
    }

    #[test]
    fn the_fastest_way_is_named() {
        let call = |way, from, left, ns| waited(1 << 20, way, from, left, ns);
        let waited = [
            call("first", "device", 1, 20_000),
            call("first", "device", 4, 17_000),
            call("first", "device", 2048, 15_000),
            call("first", "host", 1 << 20, 900_000),
            call("one-pass", "device", 1, 12_000),
        ];
        let text = threshold(&waited);
        let line = text.lines().last().unwrap();
        for cell in ["900.0", "12.00", "20.00", "15.00", "2^11"] {
            assert!(line.contains(cell), "{cell}: {line}");
        }
        assert!(!line.contains("17.00"), "{line}");
    }
}
