//! Adds the examples in ORDER.md step by step in the documented order.

use samebits::{Shape, host, shape::pick};

/// Returns floats whose sum depends on the order.
fn values(n: usize) -> Vec<f32> {
    (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 * 0.001 - 8000.0).collect()
}

fn halve(values: &[f32]) -> f32 {
    let mut values = values.to_vec();
    while values.len() > 1 {
        let half = values.len() / 2;
        values = (0..half).map(|i| values[i] + values[i + half]).collect();
    }
    values[0]
}

/// Returns the sums of a chunk's warps, thread by thread.
fn warps(part: &[f32], threads: usize) -> Vec<f32> {
    let thread = |t: usize| {
        let mut lanes = [0.0f32; 4];
        for word in (t..part.len().div_ceil(4)).step_by(threads) {
            for (lane, value) in lanes.iter_mut().zip(&part[4 * word..part.len().min(4 * word + 4)])
            {
                *lane += value;
            }
        }
        halve(&lanes)
    };
    let threads: Vec<f32> = (0..threads).map(thread).collect();
    threads.chunks(32).map(halve).collect()
}

#[test]
fn nine_vectors() {
    let values = values(35);
    let v: Vec<f32> = (0..9)
        .map(|t| {
            let lane = |e: usize| values.get(4 * t + e).copied().unwrap_or(0.0);
            (lane(0) + lane(2)) + (lane(1) + lane(3))
        })
        .collect();
    let by_hand = (((v[0] + v[8]) + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
    assert_eq!(host::sum(&values).to_bits(), by_hand.to_bits());
}

#[test]
fn one_block_of_1024() {
    let values = values(10_000);
    assert_eq!(pick(10_000, 4), Some(Shape::Block { threads: 1024 }));
    let w = warps(&values, 1024);
    let s = [0, 1, 2, 3].map(|i| (i..32).step_by(4).fold(0.0, |sum: f32, warp| sum + w[warp]));
    assert_eq!(host::sum(&values).to_bits(), ((s[0] + s[2]) + (s[1] + s[3])).to_bits());
}

#[test]
fn eight_chunks() {
    let values = values(30_000);
    assert_eq!(pick(30_000, 4), Some(Shape::Spread { chunks: 8, vectors: 944 }));
    let w: Vec<f32> = values.chunks(4 * 944).flat_map(|part| warps(part, 256)).collect();
    let threads: Vec<f32> = (0..32).map(|i| w[i] + w[i + 32]).collect();
    assert_eq!((w.len(), host::sum(&values).to_bits()), (64, halve(&threads).to_bits()));
}

#[test]
fn chunks_that_the_page_counts() {
    assert_eq!(7500 - 7 * 944, 892);
    assert_eq!(pick(250_000, 8), Some(Shape::Chunks { chunks: 48, vectors: 2608 }));
    assert_eq!(125_000 - 47 * 2608, 2424);
    assert_eq!(pick(1 << 30, 2), Some(Shape::Chunks { chunks: 4096, vectors: 32768 }));
}

/// Checks that the bits for every shape are those of earlier versions. If any of them changes,
/// `ORDER` must change too.
#[test]
fn the_bits_of_version_1() {
    assert_eq!(samebits::ORDER, 1);
    let bits =
        [35, 5000, 10_000, 30_000, 100_000, 600_000, 700_001, 1_400_003, 3_000_000, 17_000_001]
            .map(|n| host::sum(&values(n)).to_bits());
    let given = [
        0x442b_a320,
        0x49ec_acbe,
        0x4a6c_560d,
        0x4b31_c5ab,
        0x4c14_4095,
        0x4d5e_5ba2,
        0x4d81_b514,
        0x4e01_b5a8,
        0x4e8a_f970,
        0x4fc4_e27b,
    ];
    assert_eq!(bits, given, "{bits:#x?}");
}

/// Checks that the table in ORDER.md equals the program's table.
#[test]
fn the_table_of_the_page() {
    let page = include_str!("../../ORDER.md");
    let rows = page.lines().skip_while(|line| !line.starts_with("| bytes")).skip(2);
    let mut below = 0;
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let threads: u32 = cells[4].parse().unwrap();
        let most = match cells[1].split_once(' ') {
            Some((n, "KiB")) => n.parse::<u64>().unwrap() << 10,
            Some((n, "MiB")) => n.parse::<u64>().unwrap() << 20,
            _ => below + (1 << 32),
        };
        for bytes in [below + 4, most] {
            let shape = pick(bytes / 4, 4).unwrap();
            let kind = match shape {
                Shape::Block { .. } => "block",
                Shape::Spread { .. } => "spread",
                Shape::Chunks { .. } => "chunks",
            };
            assert_eq!((kind, shape.threads()), (cells[2], threads), "{bytes} bytes, {row}");
            if let Ok(parts) = cells[3].parse::<u32>() {
                assert!(
                    shape.chunks() <= parts && shape.chunks() + 1 >= parts,
                    "{bytes} bytes: {shape:?}"
                );
            }
        }
        below = most;
    }
    assert!(below > 1280 << 20, "the page has a table");
}
