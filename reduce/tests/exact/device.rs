//! Checks in the interpreter that the kernels compute the host's bits, for any division into
//! chunks, any address and any order of execution.

use samebits::{Accumulator, ExactAccumulator, ExactElement, host, launch};
use simt::{Arg, Config, Gpu, Launch, Module, Schedule};

use crate::{bytes::Bytes, inputs::Drawn};

/// The conditions of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// The number of blocks that are resident at the same time.
    pub(crate) resident: u32,
    pub(crate) schedule: Schedule,
    /// The slice's offset from the start of a vector, in elements.
    pub(crate) shift: u64,
    /// The epoch for a host that polls, or 0 for a result for the stream.
    pub(crate) epoch: u32,
}

/// Compares the results of two launches with the host's. Panics if there is a finding, or if the
/// state is not restored.
pub(crate) fn compare<T: Drawn + Bytes>(values: &[T], way: Way, input: &str) {
    let (cut, ptx) = (cut(values, way.resident), T::KERNEL.ptx(9));
    compare_as(values, way, input, &play(&ptx, values, cut, way, 2, input));
}

/// Compares the result of one launch over a long input with the host's.
pub(crate) fn compare_once<T: Drawn + Bytes>(values: &[T], way: Way, input: &str) {
    let (cut, ptx) = (cut(values, way.resident), T::KERNEL.ptx(9));
    compare_as(values, way, input, &play(&ptx, values, cut, way, 1, input));
}

fn compare_as<T: Drawn>(values: &[T], way: Way, input: &str, found: &[u64]) {
    let expected = host::exact_sum(values).to_bits64();
    for found in found {
        assert_eq!(*found, expected, "{input}, {way:?}: {found:#x} instead of {expected:#x}");
    }
}

/// Returns the number of chunks, and the number of vectors in each chunk.
pub(crate) fn cut<T: ExactElement>(values: &[T], resident: u32) -> (u32, u32) {
    T::CUT.chunks(values.len() as u64, size_of::<T>() as u64, resident)
}

/// Launches the kernel of this PTX once or several times, and returns the bits of the results. The
/// second launch is also compared with the host's accumulator.
pub(crate) fn play<T: ExactElement + Bytes>(
    ptx: &str,
    values: &[T],
    (chunks, vectors): (u32, u32),
    way: Way,
    launches: u32,
    input: &str,
) -> Vec<u64> {
    let (n, size) = (values.len() as u64, size_of::<T>() as u64);
    let kernel = T::KERNEL;
    let module = Module::parse(ptx).unwrap_or_else(|e| panic!("{}: {e}", kernel.name()));
    let mut config = Config::default();
    config.schedule = way.schedule;
    // These kernels end, but on a busy machine a block with many elements takes more than the usual
    // ten seconds.
    config.patience = Some(std::time::Duration::from_secs(600));
    let mut gpu = Gpu::with(config);

    // The allocation has exactly the slice's size, so that reads outside the slice are found.
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
    let memory = gpu.alloc(bytes.len() as u64 + way.shift * size).unwrap();
    gpu.write(memory + way.shift * size, &bytes).unwrap();
    let output = gpu.alloc(16).unwrap();
    gpu.fill(output, 0, 16).unwrap();
    let room = launch::STATE as u64;
    let state = gpu.alloc(room).unwrap();
    gpu.fill(state, 0, room).unwrap();

    let grid = chunks.min(way.resident);
    let result = |again| {
        let epoch = if way.epoch == 0 { 0 } else { way.epoch + again };
        let launch = Launch {
            entry: &kernel.name(),
            grid: [grid, 1, 1],
            block: [T::CUT.threads, 1, 1],
            cluster: [1, 1, 1],
            shared: 0,
            args: vec![
                Arg::U64(memory + way.shift * size),
                Arg::U64(output),
                Arg::U64(n),
                Arg::U32(vectors),
                Arg::U32(chunks),
                Arg::U64(if grid == 1 { 0 } else { state }),
                Arg::U32(epoch),
            ],
        };
        let mut watch = simt::checks();
        gpu.launch_watched(&module, &launch, Some(&mut watch))
            .unwrap_or_else(|e| panic!("{}, {input}, {way:?}: {e}", kernel.name()));
        let findings = simt::findings(&watch);
        assert!(findings.is_empty(), "{}, {input}, {way:?}: {}", kernel.name(), findings[0]);
        if again == 1 {
            accumulate(&mut gpu, &module, &launch, values, input);
        }
        let mut left = vec![1; room as usize];
        gpu.read(state, &mut left).unwrap();
        assert!(left.iter().all(|byte| *byte == 0), "{input} leaves its state changed");
        read::<T::Output>(&mut gpu, output, epoch)
    };
    (0..launches).map(result).collect()
}

/// Compares a dot product with the host. The second slice's offset from a vector is `shift`
/// elements larger than the first slice's.
pub(crate) fn compare_dot<T: Drawn + Bytes>(a: &[T], b: &[T], way: Way, input: &str) {
    let (n, size) = (a.len() as u64, size_of::<T>() as u64);
    let module = Module::parse(&T::DOT.ptx(9)).unwrap_or_else(|e| panic!("{}: {e}", T::DOT.name()));
    let mut config = Config::default();
    config.schedule = way.schedule;
    let mut gpu = Gpu::with(config);
    let mut put = |values: &[T], shift: u64| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let memory = gpu.alloc(bytes.len() as u64 + shift * size).unwrap() + shift * size;
        gpu.write(memory, &bytes).unwrap();
        memory
    };
    let (first, second) = (put(a, 1), put(b, 1 + way.shift));
    let output = gpu.alloc(16).unwrap();
    let room = launch::STATE as u64;
    let state = gpu.alloc(room).unwrap();
    gpu.fill(state, 0, room).unwrap();
    let (chunks, vectors) = T::DOT_CUT.chunks(n, size, way.resident);
    let grid = chunks.min(way.resident);
    let launch = Launch {
        entry: &T::DOT.name(),
        grid: [grid, 1, 1],
        block: [T::DOT_CUT.threads, 1, 1],
        cluster: [1, 1, 1],
        shared: 0,
        args: vec![
            Arg::U64(first),
            Arg::U64(second),
            Arg::U64(output),
            Arg::U64(n),
            Arg::U32(vectors),
            Arg::U32(chunks),
            Arg::U64(if grid == 1 { 0 } else { state }),
            Arg::U32(way.epoch),
        ],
    };
    let mut watch = simt::checks();
    gpu.launch_watched(&module, &launch, Some(&mut watch))
        .unwrap_or_else(|e| panic!("{}, {input}, {way:?}: {e}", T::DOT.name()));
    let findings = simt::findings(&watch);
    assert!(findings.is_empty(), "{}, {input}, {way:?}: {}", T::DOT.name(), findings[0]);
    let found = read::<T::Output>(&mut gpu, output, way.epoch);
    let expected = host::exact_dot(a, b).unwrap().to_bits64();
    assert_eq!(found, expected, "dot of {input}, {way:?}: {found:#x} instead of {expected:#x}");
}

/// Compares the digits that a launch stores with those of the host's accumulator.
fn accumulate<T: ExactElement>(
    gpu: &mut Gpu,
    module: &Module,
    launch: &Launch<'_>,
    values: &[T],
    input: &str,
) {
    let words = launch::RAW_WORDS[size_of::<T::Output>() / 8];
    let output = gpu.alloc(8 * words as u64).unwrap();
    let mut args = launch.args.clone();
    args[1] = Arg::U64(output);
    args[6] = Arg::U32(launch::RAW);
    gpu.launch_watched(module, &Launch { args, ..launch.clone() }, None).unwrap();
    let mut bytes = vec![0; 8 * words];
    gpu.read(output, &mut bytes).unwrap();
    let raw: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let found = launch::accumulator::<T::Output>(&raw, values.len() as u64);
    let mut expected = ExactAccumulator::new();
    expected.add(values);
    assert_eq!(found.to_bytes(), expected.to_bytes(), "{input}: the accumulator");
}

/// Reads the bits of a result in the way that the stream or a waiting host reads them.
fn read<A>(gpu: &mut Gpu, output: u64, epoch: u32) -> u64 {
    let mut words = [0; 16];
    gpu.read(output, &mut words).unwrap();
    let word = |at: usize| u64::from_le_bytes(words[at..at + 8].try_into().unwrap());
    if epoch == 0 {
        return if size_of::<A>() == 8 { word(0) } else { word(0) & 0xffff_ffff };
    }
    let halves = (0..size_of::<A>() / 4).map(|half| {
        assert_eq!((word(8 * half) >> 32) as u32, epoch, "no epoch with half {half}");
        (word(8 * half) & 0xffff_ffff) << (32 * half)
    });
    halves.sum()
}
