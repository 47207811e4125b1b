//! A launch on the interpreter, as the crate would launch it, under all of its checks.

#[path = "../bytes/mod.rs"]
mod bytes;

pub(crate) use bytes::Bytes;
use reduce::{Element, Family, Operation, shape};
use simt::{
    Arg, Config, Counters, Gpu, Launch, Module, Schedule,
    observe::{Memory, Races, Sync},
};

/// What the program does not decide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// 7 or 9: other texts where there are two.
    pub(crate) major: i32,
    /// The most blocks that the device holds at once.
    pub(crate) resident: u32,
    pub(crate) schedule: Schedule,
    /// Elements by which the slice begins beside a word.
    pub(crate) shift: u64,
    /// For a host that waits, if it is not zero.
    pub(crate) epoch: u32,
}

/// The bits of the result of two launches, one after the other; of one, where its schedule is drawn.
/// Panics where the state is not left as it was found, where a check finds something, and where the two
/// differ.
pub(crate) fn play<T: Element>(bytes: &[u8], n: u64, operation: Operation, way: Way) -> u64 {
    let size = size_of::<T>() as u64;
    let shape = shape::pick(n, size).unwrap();
    let kernel =
        reduce::kernel::<T>(operation, Family::of(shape, (way.shift * size).is_multiple_of(16)));
    let module =
        Module::parse(kernel.ptx(way.major)).unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
    let mut config = Config::default();
    config.schedule = way.schedule;
    let mut gpu = Gpu::with(config);

    // Not a byte more than the slice: what is read behind it is found.
    let memory = gpu.alloc(bytes.len() as u64 + way.shift * size).unwrap();
    gpu.write(memory + way.shift * size, bytes).unwrap();
    let output = gpu.alloc(16).unwrap();
    gpu.fill(output, 0, 16).unwrap();
    let room = 16 + u64::from(shape.values()) * size_of::<T::Output>() as u64 * 2;
    let state = gpu.alloc(room).unwrap();
    gpu.fill(state, 0, room).unwrap();

    let grid = shape.parts().min(way.resident);
    let launches = if matches!(way.schedule, Schedule::Adversarial(_)) { 1 } else { 2 };
    let mut results = Vec::new();
    for again in 0..launches {
        let epoch = if way.epoch == 0 { 0 } else { way.epoch + again };
        let launch = Launch {
            entry: kernel.name,
            grid: [grid, 1, 1],
            block: [shape.threads(), 1, 1],
            cluster: [1, 1, 1],
            shared: 0,
            args: vec![
                Arg::U64(memory + way.shift * size),
                Arg::U64(output),
                Arg::U64(n),
                Arg::U32(shape.words()),
                Arg::U32(shape.parts()),
                Arg::U64(state),
                Arg::U32(epoch),
            ],
        };
        let mut checks = (Counters::default(), Races::new(), Memory::new(), Sync::new());
        gpu.launch(&module, &launch, &mut checks)
            .unwrap_or_else(|e| panic!("{} of {n}, {way:?}: {e}", kernel.name));
        let (_, races, memory, sync) = &checks;
        let findings = [races.findings(), memory.findings(), sync.findings()].concat();
        assert!(findings.is_empty(), "{} of {n}, {way:?}: {}", kernel.name, findings[0]);
        results.push(read::<T>(&mut gpu, output, epoch));
    }
    assert!(
        results.iter().all(|bits| *bits == results[0]),
        "{} of {n}, {way:?}: again",
        kernel.name
    );
    let mut left = vec![1; room as usize];
    gpu.read(state, &mut left).unwrap();
    assert!(left.iter().all(|byte| *byte == 0), "{} of {n} leaves its state changed", kernel.name);
    results[0]
}

/// The bits of a result, as the stream or the host finds them.
fn read<T: Element>(gpu: &mut Gpu, output: u64, epoch: u32) -> u64 {
    let mut words = [0; 16];
    gpu.read(output, &mut words).unwrap();
    let word = |at: usize| u64::from_le_bytes(words[at..at + 8].try_into().unwrap());
    if epoch == 0 {
        return if size_of::<T::Output>() == 8 { word(0) } else { word(0) & 0xffff_ffff };
    }
    let halves = (0..size_of::<T::Output>() / 4).map(|half| {
        assert_eq!((word(8 * half) >> 32) as u32, epoch, "no epoch with half {half}");
        (word(8 * half) & 0xffff_ffff) << (32 * half)
    });
    halves.sum()
}
