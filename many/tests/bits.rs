//! Tests ranks that are interpreters. For any number of ranks, the result must be bit-identical to
//! that of one launch.

use half::{bf16, f16};
use many::{Data, Datum, Layout, played};
use reduce::{Accumulator, Operation, host, stages};

/// Lengths in bytes: small lengths of each shape, whose elements are gathered, and longer lengths,
/// whose chunks are divided among the ranks.
const BYTES: [usize; 7] = [0, 4_104, 40_040, 180_008, 196_608, 196_624, 400_040];

/// The operations of the command line.
const OPERATIONS: [Operation; 3] = [Operation::Sum, Operation::Min, Operation::Max];

fn on_the_host<T: Datum>(elements: &[T], operation: Operation) -> u64 {
    host::reduce(elements, operation).to_bits64()
}

fn several<T: Datum>(elements: &[T], world: u32, operation: Operation) -> u64 {
    let layout = Layout::even::<T>(elements.len() as u64, world).unwrap();
    let of = |rank| {
        let own = layout.elements(rank);
        &elements[own.start as usize..own.end as usize]
    };
    let stamp = 7 << 32 | 1;
    let blocks: Vec<Vec<u8>> = (0..world)
        .map(|rank| played::block(of(rank), &layout, rank, operation, stamp).unwrap())
        .collect();
    played::finish::<T>(&blocks, &layout, operation, stamp).unwrap()
}

fn holds<T: Datum>(operation: Operation, n: usize, worlds: &[u32]) {
    let elements = Data::of::<T>(0..n as u64);
    let expected = on_the_host(&elements, operation);
    for world in worlds {
        let bits = several(&elements, *world, operation);
        assert_eq!(bits, expected, "{operation:?} of {n} {}, {world} ranks", T::NAME);
    }
}

fn check<T: Datum>() {
    for (turn, operation) in OPERATIONS.into_iter().enumerate() {
        // All operations divide the chunks in the same way, so only the sum has all lengths and
        // numbers of ranks.
        let all = operation == Operation::Sum;
        for bytes in BYTES.into_iter().skip(turn / 2).step_by(if all { 1 } else { 2 }) {
            let n = bytes / size_of::<T>() + usize::from(bytes > 0);
            let elements = Data::of::<T>(0..n as u64);
            let one = played::one(&elements, operation).unwrap();
            assert_eq!(one, on_the_host(&elements, operation), "{operation:?} of {n} {}", T::NAME);
            let worlds: &[u32] = match all {
                true if T::NAME == "f32" => &[1, 2, 3, 5, 8, 64],
                true => &[2, 5, 64],
                false => &[3, 64],
            };
            holds::<T>(operation, n, worlds);
        }
    }
}

macro_rules! types {
    ($($test:ident $type:ty;)+) => {$(
        #[test]
        fn $test() {
            check::<$type>();
        }
    )+};
}
types! {
    f32s f32; f64s f64; i32s i32; u32s u32; i64s i64; u64s u64; f16s f16; bf16s bf16;
}

/// Tests the lengths zero and one, and lengths just below and above the sizes of a warp, of a block
/// and of each shape.
#[test]
fn awkward_lengths() {
    let small = [0, 1, 31, 32, 33, 63, 65, 255, 257, 1023, 1025, 12_288, 12_289, 49_152];
    for n in small.into_iter().chain([49_153, 650_001]) {
        holds::<f32>(Operation::Sum, n, &[1, 2, 3, 5, 8, 64]);
    }
    for n in [(1 << 20) + 13, 1_572_941] {
        holds::<f32>(Operation::Sum, n, &[2, 5]);
    }
}

/// Checks that adding the ranks' totals in rank order gives different bits, which is the reason for
/// this crate.
#[test]
fn totals_in_rank_order_have_other_bits() {
    let elements = Data::of::<f32>(0..1_572_941);
    let layout = Layout::even::<f32>(elements.len() as u64, 3).unwrap();
    let total = |rank| {
        let own = layout.elements(rank);
        host::sum(&elements[own.start as usize..own.end as usize])
    };
    assert_ne!((total(0) + total(1) + total(2)).to_bits(), host::sum(&elements).to_bits());
}

/// Checks that sums that are combined in a different order have different bits at most lengths. At
/// some lengths, the rounding is the same by chance.
#[test]
fn another_order_of_finishing_has_other_bits() {
    let mut other = [0; 3];
    for n in (60_000..160_000).step_by(10_000) {
        let elements = Data::of::<f32>(0..n);
        let layout = Layout::even::<f32>(n, 2).unwrap();
        let block = |rank| {
            let own = layout.elements(rank);
            let shard = &elements[own.start as usize..own.end as usize];
            played::block(shard, &layout, rank, Operation::Sum, 1).unwrap()
        };
        let finish = |blocks: &[Vec<u8>]| {
            played::finish::<f32>(blocks, &layout, Operation::Sum, 1).unwrap() as u32
        };
        let right = host::sum(&elements).to_bits();
        assert_eq!(finish(&[block(0), block(1)]), right);
        // Tries the ranks in reverse order, and the chunks of one rank in reverse order.
        assert_eq!(layout.of(0).len(), layout.of(1).len());
        other[0] += u32::from(finish(&[block(1), block(0)]) != right);
        let (mut mutated, count) = (block(0), layout.of(0).len());
        let sums: Vec<u8> = mutated[16..16 + 4 * count].rchunks(4).flatten().copied().collect();
        mutated[16..16 + 4 * count].copy_from_slice(&sums);
        other[1] += u32::from(finish(&[mutated, block(1)]) != right);
        // Adds the chunk sums one after another, on the host.
        let sums = stages::partials(&elements, layout.shape, Operation::Sum);
        assert_eq!(stages::finish::<f32>(&sums, Operation::Sum).to_bits(), right);
        other[2] += u32::from(sums.iter().sum::<f32>().to_bits() != right);
    }
    // `other[0]` is not checked, because swapping two whole ranks may not change the sum.
    assert!(other[1] >= 5 && other[2] >= 5, "{other:?} of 10");
}

#[test]
fn a_block_of_another_call_is_an_error() {
    for n in [1000, 100_000] {
        let elements = Data::of::<f32>(0..n);
        let layout = Layout::even::<f32>(n, 3).unwrap();
        let blocks: Vec<Vec<u8>> = (0..3)
            .map(|rank| {
                let own = layout.elements(rank);
                let shard = &elements[own.start as usize..own.end as usize];
                let stamp = if rank == 1 { 4 } else { 5 };
                played::block(shard, &layout, rank, Operation::Sum, stamp).unwrap()
            })
            .collect();
        let error = played::finish::<f32>(&blocks, &layout, Operation::Sum, 5).unwrap_err();
        assert!(error.to_string().starts_with("rank 1 has reached a different call"), "{error}");
    }
}

/// Tests the exchange inside the kernels, with even and odd epochs and 1 to 8 GPUs.
#[test]
fn messages_between_gpus() {
    fn check<T: Datum>(n: u64, world: u32, operation: Operation, epoch: u32) {
        let elements = Data::of::<T>(0..n);
        let layout = Layout::even::<T>(n, world).unwrap();
        let of = |rank| {
            let own = layout.elements(rank);
            &elements[own.start as usize..own.end as usize]
        };
        let (shards, parts): (Vec<&[T]>, Vec<_>) =
            (0..world).map(|r| (of(r), layout.of(r))).unzip();
        let bits = played::exchange(&shards, layout.shape, &parts, operation, epoch, 1000).unwrap();
        assert_eq!(bits, Ok(on_the_host(&elements, operation)), "{n} {}, {world} GPUs", T::NAME);
    }
    for (world, epoch) in [(1, 1), (2, 1), (2, 2), (3, 7), (8, u32::MAX)] {
        check::<f32>(100_003, world, Operation::Sum, epoch);
        check::<f64>(50_003, world, Operation::Sum, epoch);
    }
    for operation in OPERATIONS {
        check::<i64>(30_001, 2, operation, 1);
        check::<u32>(60_001, 2, operation, 1);
        check::<f16>(120_001, 2, operation, 1);
        check::<bf16>(120_001, 2, operation, 1);
    }
    check::<f32>(650_001, 8, Operation::Sum, 3);
    // This length has more chunks than one warp collects.
    check::<f32>((1 << 20) + 13, 3, Operation::Sum, 3);
}

/// Checks that one GPU can read a small slice from all ranks, whose shards may have any length,
/// including zero and less than one vector.
#[test]
fn elements_are_read_in_place() {
    fn check<T: Datum>(lengths: &[usize]) {
        let elements = Data::of::<T>(0..lengths.iter().sum::<usize>() as u64);
        let (layout, _) =
            Layout::ragged::<T>(&lengths.iter().map(|n| *n as u64).collect::<Vec<_>>()).unwrap();
        assert!(layout.is_small(), "{lengths:?}");
        let mut rest = elements.as_slice();
        let shards: Vec<&[T]> = lengths
            .iter()
            .map(|n| {
                let (shard, behind) = rest.split_at(*n);
                rest = behind;
                shard
            })
            .collect();
        for operation in OPERATIONS {
            let bits = played::read(&shards, layout.shape, operation).unwrap();
            let right = on_the_host(&elements, operation);
            assert_eq!(bits, right, "{operation:?} of {lengths:?} {}", T::NAME);
        }
    }
    for lengths in [
        &[0][..],
        &[0, 0, 0],
        &[1],
        &[0, 1, 0],
        &[3, 5, 0, 1, 502],
        &[1, 4095, 1],
        &[6000, 7, 6000],
        &[24_571, 0, 3, 2],
    ] {
        check::<f32>(lengths);
        check::<f64>(lengths);
        check::<bf16>(lengths);
    }
    check::<f32>(&[1, 2, 49_149]);
    check::<u32>(&[20_001, 20_001]);
    check::<f16>(&[90_001, 2, 8_301]);
}

/// Checks that the wait for a message that does not arrive ends, and that the error names the
/// missing chunk.
#[test]
fn a_gpu_that_does_not_publish_ends_the_wait() {
    let n = 100_003;
    let elements = Data::of::<f32>(0..n);
    let layout = Layout::even::<f32>(n, 2).unwrap();
    let mut parts = vec![layout.of(0), layout.of(1)];
    let split = layout.elements(0).end as usize;
    // The first GPU omits its last chunk.
    parts[0].end -= 1;
    let left = split - layout.part() as usize;
    let told = played::exchange(
        &[&elements[..left], &elements[split..]],
        layout.shape,
        &parts,
        Operation::Sum,
        1,
        50,
    );
    assert_eq!(told.unwrap(), Err(parts[0].end));
}
