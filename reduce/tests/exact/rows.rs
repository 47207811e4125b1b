//! Checks in the interpreter that exact sums of rows have the host's bits.

use half::{bf16, f16};
use samebits::{Accumulator, Rows, host, launch};
use simt::{Arg, Config, Gpu, Launch, Module, Schedule};

use crate::{
    bytes::Bytes,
    inputs::{Drawn, KINDS, draw},
};

/// Compares the sums of rows with the host's. Rows are assigned to the blocks in turn. A block adds
/// a row in chunks of `vectors` vectors.
fn compare<T: Drawn + Bytes>(values: &[T], rows: Rows, (grid, vectors, shift): (u32, u32, u64)) {
    let (count, elements, pitch) = rows.numbers();
    let size = size_of::<T>() as u64;
    let kernel = T::EXACT_ROWS;
    let module = Module::parse(&kernel.ptx(9)).unwrap_or_else(|e| panic!("{}: {e}", kernel.name()));
    let mut config = Config::default();
    config.schedule = if count % 2 == 0 { Schedule::Converged } else { Schedule::MinPc };
    let mut gpu = Gpu::with(config);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
    let memory = gpu.alloc(bytes.len() as u64 + shift * size).unwrap() + shift * size;
    gpu.write(memory, &bytes).unwrap();
    let each = size_of::<T::Output>() as u64;
    let output = gpu.alloc(count * each).unwrap();
    let launch = Launch {
        entry: &kernel.name(),
        grid: [grid.min(count as u32), 1, 1],
        block: [launch::Cut::ROW_THREADS, 1, 1],
        cluster: [1, 1, 1],
        shared: 0,
        args: vec![
            Arg::U64(memory),
            Arg::U64(output),
            Arg::U64(count),
            Arg::U64(elements),
            Arg::U64(pitch),
            Arg::U32(vectors),
            Arg::U32(0),
            Arg::U32(0),
            Arg::U64(0),
        ],
    };
    let what = format!("{} of {rows:?}", kernel.name());
    let mut watch = simt::checks();
    gpu.launch_watched(&module, &launch, Some(&mut watch))
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    let findings = simt::findings(&watch);
    assert!(findings.is_empty(), "{what}: {}", findings[0]);
    for (row, expected) in host::exact_sum_rows(values, rows).unwrap().into_iter().enumerate() {
        let mut found = [0; 8];
        gpu.read(output + row as u64 * each, &mut found[..each as usize]).unwrap();
        assert_eq!(u64::from_le_bytes(found), expected.to_bits64(), "row {row} of {what}");
    }
}

fn rows<T: Drawn + Bytes>() {
    let shapes = [(1, 1, 0), (5, 3, 1), (4, 33, 0), (3, 1025, 7), (2, 5000, 0)];
    for (kind, name) in KINDS.iter().enumerate() {
        // The construction of ill-conditioned data takes n² additions.
        let (count, elements, more) =
            if *name == "ill-conditioned" { (3, 40, 1) } else { shapes[kind % shapes.len()] };
        let rows = Rows::new(count, elements).pitch(elements + more);
        let mut values: Vec<T> = draw(kind, rows.span().unwrap() as usize, kind as u64);
        values.resize(rows.span().unwrap() as usize, T::near(1.0));
        // Blocks add one or more rows, and rows have one or more chunks.
        compare(&values, rows, [(528, 1 << 18, 0), (2, 64, 1)][kind / 2 % 2]);
    }
}

#[test]
fn rows_of_floats_and_halves_on_the_interpreter() {
    rows::<f32>();
    rows::<f64>();
    rows::<f16>();
    rows::<bf16>();
}
