//! Interprets the launches that the crate would make for rows, with all checks.

pub(crate) use crate::bytes::Bytes;
use samebits::{
    Element, Operation, Read, Rows,
    rows::{Begin, Plan, Shape, plan},
};
use simt::{Arg, Config, Gpu, Launch, Module, Schedule};

/// The conditions of a launch that the program does not control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) operation: Operation,
    /// The maximum number of blocks that are resident on the device.
    pub(crate) resident: u32,
    /// The maximum size of the grid. If it is smaller than the plan's grid, each block adds more
    /// rows.
    pub(crate) most: u32,
    pub(crate) schedule: Schedule,
    /// The slice's offset from a vector, in elements.
    pub(crate) shift: u64,
    /// Whether the sums are aligned to a vector.
    pub(crate) sums: bool,
}

/// Returns the bits of each row's sum on Hopper. If devices before Hopper use a different launch,
/// its bits must be the same.
pub(crate) fn play<T: Element + Bytes + Read<W>, W>(
    values: &[T],
    rows: Rows,
    shape: Shape,
    way: Way,
) -> Vec<u64> {
    let newer = play_on::<T, W>(9, values, rows, shape, way);
    if planned::<T>(9, rows, shape, way) != planned::<T>(7, rows, shape, way) {
        let older = play_on::<T, W>(7, values, rows, shape, way);
        assert_eq!(older, newer, "before Hopper, and on it: {rows:?}, {shape:?}, {way:?}");
    }
    newer
}

/// Returns the launch on devices of a major compute capability.
fn planned<T: Element>(major: i32, rows: Rows, shape: Shape, way: Way) -> Plan {
    let size = size_of::<T>() as u64;
    let (_, elements, pitch) = rows.numbers();
    let lanes = 16 / size;
    let whole = pitch.is_multiple_of(lanes) && elements.is_multiple_of(lanes);
    let whole = whole || matches!(shape, Shape::Short);
    let begin = Begin {
        rows: way.shift.is_multiple_of(lanes) && whole,
        sums: way.sums,
        copied: major >= 9 && size >= 4,
    };
    plan(rows, shape, begin, |_| way.resident).expect("more than one row")
}

/// Returns the bits of the sums after two launches, or after one if the schedule is adversarial.
/// Panics if the state is not restored, if there is a finding, or if the two results differ.
fn play_on<T: Element + Bytes + Read<W>, W>(
    major: i32,
    values: &[T],
    rows: Rows,
    shape: Shape,
    way: Way,
) -> Vec<u64> {
    let size = size_of::<T>() as u64;
    let (count, elements, pitch) = rows.numbers();
    let Plan { family, grid, threads, shape, values: boxes } =
        planned::<T>(major, rows, shape, way);
    let kernel = samebits::rows_kernel_of::<T, W>(way.operation, family);
    let module =
        Module::parse(&kernel.ptx(major)).unwrap_or_else(|e| panic!("{}: {e}", kernel.name()));
    let mut config = Config::default();
    config.schedule = way.schedule;
    let mut gpu = Gpu::with(config);

    // The allocation ends where the slice ends, so that reads past the end are found.
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
    let memory = gpu.alloc(bytes.len() as u64 + way.shift * size).unwrap();
    gpu.write(memory + way.shift * size, &bytes).unwrap();
    let result = size_of::<<T as Read<W>>::Value>() as u64;
    let before = if way.sums { 0 } else { result };
    let output = gpu.alloc(before + count * result).unwrap() + before;
    let room = 16 + boxes * result * 2;
    let state = gpu.alloc(room).unwrap();
    gpu.fill(state, 0, room).unwrap();
    let launch = Launch {
        entry: &kernel.name(),
        grid: [grid.min(way.most), 1, 1],
        block: [threads, 1, 1],
        cluster: [1, 1, 1],
        shared: 0,
        args: vec![
            Arg::U64(memory + way.shift * size),
            Arg::U64(output),
            Arg::U64(count),
            Arg::U64(elements),
            Arg::U64(pitch),
            Arg::U32(shape[0]),
            Arg::U32(shape[1]),
            Arg::U32(shape[2]),
            Arg::U64(state),
        ],
    };
    let launches = if matches!(way.schedule, Schedule::Adversarial(_)) { 1 } else { 2 };
    let mut results = Vec::new();
    for _ in 0..launches {
        let what = || format!("{} of {rows:?}, {shape:?}, {way:?}", kernel.name());
        let mut watch = simt::checks();
        gpu.fill(output, 0xff, count * result).unwrap();
        gpu.launch_watched(&module, &launch, Some(&mut watch))
            .unwrap_or_else(|e| panic!("{}: {e}", what()));
        let findings = simt::findings(&watch);
        assert!(findings.is_empty(), "{}: {}", what(), findings[0]);
        let mut sums = vec![0; (count * result) as usize];
        gpu.read(output, &mut sums).unwrap();
        let bits = |sum: &[u8]| {
            let mut word = [0; 8];
            word[..sum.len()].copy_from_slice(sum);
            u64::from_le_bytes(word)
        };
        results.push(sums.chunks(result as usize).map(bits).collect::<Vec<_>>());
    }
    assert!(results.iter().all(|sums| *sums == results[0]), "{} again", kernel.name());
    let mut left = vec![1; room as usize];
    gpu.read(state, &mut left).unwrap();
    assert!(left.iter().all(|byte| *byte == 0), "{} leaves its state changed", kernel.name());
    results.remove(0)
}
