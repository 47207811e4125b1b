//! Interprets the launches that the crate would make, with all checks.

pub(crate) use crate::bytes::Bytes;
use samebits::{Element, Family, Itself, Operation, Read, shape};
use simt::{Arg, Config, Gpu, Launch, Module, Schedule};

/// The conditions of a launch that the program does not control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// The major compute capability, 7 or 9, which selects one of the two PTX modules.
    pub(crate) major: i32,
    /// The maximum number of blocks that are resident on the device.
    pub(crate) resident: u32,
    pub(crate) schedule: Schedule,
    /// The slice's offset from a vector, in elements.
    pub(crate) shift: u64,
    /// The epoch for a host that polls, or 0 for a result for the stream.
    pub(crate) epoch: u32,
}

/// Returns the bits of the result after two consecutive launches, or after one if the schedule is
/// adversarial. Panics if the state is not restored, if there is a finding, or if the two results
/// differ.
pub(crate) fn play<T: Element>(bytes: &[u8], n: u64, operation: Operation, way: Way) -> u64 {
    play_read::<T, Itself>(bytes, n, operation, way)
}

/// Like [`play`], for elements that are converted as `W` specifies.
pub(crate) fn play_read<T: Element + Read<W>, W>(
    bytes: &[u8],
    n: u64,
    operation: Operation,
    way: Way,
) -> u64 {
    let size = size_of::<T>() as u64;
    let shape = shape::pick(n, size).unwrap();
    let kernel = samebits::kernel_of::<T, W>(
        operation,
        Family::of(shape, (way.shift * size).is_multiple_of(16)),
    );
    let module =
        Module::parse(&kernel.ptx(way.major)).unwrap_or_else(|e| panic!("{}: {e}", kernel.name()));
    let mut config = Config::default();
    config.schedule = way.schedule;
    let mut gpu = Gpu::with(config);

    // The allocation ends where the slice ends, so that reads past the end are found.
    let memory = gpu.alloc(bytes.len() as u64 + way.shift * size).unwrap();
    gpu.write(memory + way.shift * size, bytes).unwrap();
    let output = gpu.alloc(16).unwrap();
    gpu.fill(output, 0, 16).unwrap();
    let room = 16 + u64::from(shape.values()) * size_of::<<T as Read<W>>::Value>() as u64 * 2;
    let state = gpu.alloc(room).unwrap();
    gpu.fill(state, 0, room).unwrap();

    let grid = shape.chunks().min(way.resident);
    let launches = if matches!(way.schedule, Schedule::Adversarial(_)) { 1 } else { 2 };
    let mut results = Vec::new();
    for again in 0..launches {
        let epoch = if way.epoch == 0 { 0 } else { way.epoch + again };
        let launch = Launch {
            entry: &kernel.name(),
            grid: [grid, 1, 1],
            block: [shape.threads(), 1, 1],
            cluster: [1, 1, 1],
            shared: 0,
            args: vec![
                Arg::U64(memory + way.shift * size),
                Arg::U64(output),
                Arg::U64(n),
                Arg::U32(shape.vectors()),
                Arg::U32(shape.chunks()),
                Arg::U64(state),
                Arg::U32(epoch),
            ],
        };
        let mut watch = simt::checks();
        gpu.launch_watched(&module, &launch, Some(&mut watch))
            .unwrap_or_else(|e| panic!("{} of {n}, {way:?}: {e}", kernel.name()));
        let findings = simt::findings(&watch);
        assert!(findings.is_empty(), "{} of {n}, {way:?}: {}", kernel.name(), findings[0]);
        results.push(read(&mut gpu, output, epoch, size_of::<<T as Read<W>>::Value>()));
    }
    assert!(
        results.iter().all(|bits| *bits == results[0]),
        "{} of {n}, {way:?}: again",
        kernel.name()
    );
    let mut left = vec![1; room as usize];
    gpu.read(state, &mut left).unwrap();
    assert!(
        left.iter().all(|byte| *byte == 0),
        "{} of {n} leaves its state changed",
        kernel.name()
    );
    results[0]
}

/// Reads the bits of a result of `size` bytes, as the stream or a waiting host would.
fn read(gpu: &mut Gpu, output: u64, epoch: u32, size: usize) -> u64 {
    let mut words = [0; 16];
    gpu.read(output, &mut words).unwrap();
    let word = |at: usize| u64::from_le_bytes(words[at..at + 8].try_into().unwrap());
    if epoch == 0 {
        return if size == 8 { word(0) } else { word(0) & 0xffff_ffff };
    }
    let halves = (0..size / 4).map(|half| {
        assert_eq!((word(8 * half) >> 32) as u32, epoch, "no epoch with half {half}");
        (word(8 * half) & 0xffff_ffff) << (32 * half)
    });
    halves.sum()
}
