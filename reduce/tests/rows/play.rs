//! A launch for rows on the interpreter, as the crate would launch it, under all of its checks.

#[path = "../bytes/mod.rs"]
mod bytes;

pub(crate) use bytes::Bytes;
use reduce::{
    Accumulator, Element, Rows,
    rows::{Begin, Plan, Shape, plan},
};
use simt::{
    Arg, Config, Counters, Gpu, Launch, Module, Schedule,
    observe::{Memory, Races, Sync},
};

/// What the program does not decide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// The most blocks that the device holds at once.
    pub(crate) resident: u32,
    /// The most blocks of a grid: fewer, and each has more rows.
    pub(crate) most: u32,
    pub(crate) schedule: Schedule,
    /// Elements by which the slice begins beside a word.
    pub(crate) shift: u64,
    /// Whether the sums begin with a word.
    pub(crate) sums: bool,
}

/// The bits of each row's sum, on devices before Hopper and on Hopper, which must be the same.
pub(crate) fn play<T: Element + Bytes>(
    values: &[T],
    rows: Rows,
    shape: Shape,
    way: Way,
) -> Vec<u64> {
    let newer = play_on(9, values, rows, shape, way);
    if planned::<T>(9, rows, shape, way) != planned::<T>(7, rows, shape, way) {
        let older = play_on(7, values, rows, shape, way);
        assert_eq!(older, newer, "before Hopper, and on it: {rows:?}, {shape:?}, {way:?}");
    }
    newer
}

/// The launch on devices of that compute capability.
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

/// The bits after two launches. Panics where the state is not left as it was found, where a check finds
/// something, where the two differ, and where more is written than the sums.
fn play_on<T: Element + Bytes>(
    major: i32,
    values: &[T],
    rows: Rows,
    shape: Shape,
    way: Way,
) -> Vec<u64> {
    let size = size_of::<T>() as u64;
    let (count, elements, pitch) = rows.numbers();
    let Plan { family, grid, threads, told, values: boxes } = planned::<T>(major, rows, shape, way);
    let kernel = reduce::rows_kernel::<T>(family);
    let module =
        Module::parse(kernel.ptx(major)).unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
    let mut config = Config::default();
    config.schedule = way.schedule;
    let mut gpu = Gpu::with(config);

    // Not a byte more than the slice: what is read behind it, or before it, is found.
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
    let memory = gpu.alloc(bytes.len() as u64 + way.shift * size).unwrap();
    gpu.write(memory + way.shift * size, &bytes).unwrap();
    let result = size_of::<T::Output>() as u64;
    let before = if way.sums { 0 } else { result };
    let output = gpu.alloc(before + count * result).unwrap() + before;
    let room = 16 + boxes * result * 2;
    let state = gpu.alloc(room).unwrap();
    gpu.fill(state, 0, room).unwrap();
    let launch = Launch {
        entry: kernel.name,
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
            Arg::U32(told[0]),
            Arg::U32(told[1]),
            Arg::U32(told[2]),
            Arg::U64(state),
        ],
    };
    let launches = if matches!(way.schedule, Schedule::Adversarial(_)) { 1 } else { 2 };
    let mut results = Vec::new();
    for _ in 0..launches {
        let what = || format!("{} of {rows:?}, {shape:?}, {way:?}", kernel.name);
        let mut checks = (Counters::default(), Races::new(), Memory::new(), Sync::new());
        gpu.fill(output, 0xff, count * result).unwrap();
        gpu.launch(&module, &launch, &mut checks).unwrap_or_else(|e| panic!("{}: {e}", what()));
        let (_, races, memory, sync) = &checks;
        let findings = [races.findings(), memory.findings(), sync.findings()].concat();
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
    assert!(results.iter().all(|sums| *sums == results[0]), "{} again", kernel.name);
    let mut left = vec![1; room as usize];
    gpu.read(state, &mut left).unwrap();
    assert!(left.iter().all(|byte| *byte == 0), "{} leaves its state changed", kernel.name);
    let _ = T::Output::to_word;
    results.remove(0)
}
