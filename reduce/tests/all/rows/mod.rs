//! Sums rows on the interpreter. For any shape, address and schedule, each sum must be
//! bit-identical to `samebits::host::sum` of that row, and there must be no findings.

mod play;

use crate::drawn::{self, Drawn, mixed, slice};
use half::{bf16, f16};
use play::{Bytes, Way, play};
use samebits::{
    Accumulator, Itself, Operation, Read, Rows, Truth, Wide, host,
    rows::{Shape, pick},
    shape,
};
use simt::Schedule;

const PLAIN: Way = Way {
    operation: Operation::Sum,
    resident: 264,
    most: u32::MAX,
    schedule: Schedule::Converged,
    shift: 0,
    sums: true,
};

/// Compares the sums of rows with those on the host, row by row.
fn holds<T: Drawn + Bytes + Copy>(rows: Rows, shape: Shape, way: Way) {
    let (count, elements, pitch) = rows.numbers();
    let operation = way.operation;
    let values = slice::<T>(((count - 1) * pitch + elements) as usize, operation);
    holds_for::<T, Itself>(&values, rows, shape, way);
}

fn holds_for<T: Drawn + Bytes + Read<W>, W>(values: &[T], rows: Rows, shape: Shape, way: Way) {
    let (_, elements, pitch) = rows.numbers();
    let bits = play::<T, W>(values, rows, shape, way);
    for (row, bits) in bits.into_iter().enumerate() {
        let at = row * pitch as usize;
        let elements = &values[at..][..elements as usize];
        let expected = host::reduce_read::<T, W>(elements, way.operation).unwrap().to_bits64();
        let what = std::any::type_name::<T>();
        assert_eq!(bits, expected, "row {row} of {rows:?} of {what}, {shape:?}, {way:?}");
    }
}

/// Checks aligned rows, and rows that are unaligned because of the pitch or the start of the slice.
fn placed<T: Drawn + Bytes + Copy>(
    count: u64,
    elements: u64,
    shape: impl Fn(Rows) -> Shape,
    turn: u64,
) {
    let lanes = 16 / size_of::<T>() as u64;
    let schedules = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(turn)];
    let schedule = schedules[turn as usize % 3];
    let rows = Rows::new(count, elements);
    let whole = elements.next_multiple_of(lanes);
    let few = 1 + turn as u32 % 3;
    // Half of the setups compute sums; the others cycle through all operations.
    let all = drawn::operations::<T>();
    let turns = [0, turn as usize / 2 % all.len()];
    let operation = all[turns[(turn + count) as usize % 2]];
    let places = [
        (rows, 0, u32::MAX),
        (rows, 1 + turn % (lanes - 1).max(1), few),
        (rows.pitch(whole), 0, few),
        (rows.pitch(whole + 1), lanes - 1, u32::MAX),
    ];
    // An even turn has the rows without a gap, an odd one those with a pitch.
    for (rows, shift, most) in places.into_iter().skip(turn as usize % 2 * 2).take(2) {
        holds::<T>(rows, shape(rows), Way { operation, shift, most, schedule, ..PLAIN });
    }
}

fn picked<T>(rows: Rows) -> Shape {
    pick(rows, size_of::<T>() as u64).unwrap()
}

/// The lengths of short rows in bytes, around the size of a vector, the size of a warp's vectors,
/// and the limits of each shape.
const LANES: [u64; 17] =
    [2, 4, 12, 8, 16, 24, 40, 64, 72, 136, 256, 264, 504, 512, 1000, 1032, 2048];
const BLOCKS: [u64; 6] = [2056, 4096, 5000, 16_384, 16_392, 48_000];
const COUNTS: [u64; 5] = [2, 3, 31, 33, 65];

/// Checks rows of all shapes. Each length has one pair of placements; the pairs alternate, and the
/// next `first` has the other pair. Only every `step`-th length is tested, and elements of the next
/// size have the next lengths.
fn check<T: Drawn + Bytes + Copy>(first: u64, step: usize) {
    let size = size_of::<T>() as u64;
    let mut turn = size + first;
    for bytes in LANES.into_iter().skip(size.ilog2() as usize % step).step_by(step) {
        for elements in [bytes / size, bytes / size + 1, (bytes / size).max(2) - 1] {
            turn += 1;
            if elements == 0 || elements * size > 2048 {
                continue;
            }
            if elements * size < 16 {
                let counts = [2, 3, 31, 33, 1025, 4099].into_iter();
                for count in counts.skip(turn as usize % step).step_by(step) {
                    placed::<T>(count, elements, |_| Shape::Short, turn);
                }
                holds::<T>(Rows::new(33, elements), Shape::Short, Way { sums: false, ..PLAIN });
                continue;
            }
            let count = COUNTS[turn as usize % 5];
            let lanes = (elements * size).div_ceil(16).next_power_of_two().min(32) as u32;
            let at_once = [1, 2, 4][turn as usize % 3];
            let threads = [32, 64, 256][turn as usize / 3 % 3];
            placed::<T>(
                count,
                elements,
                |_| Shape::Lanes { lanes, at_once, threads, persistent: turn.is_multiple_of(2) },
                turn,
            );
            placed::<T>(2 + turn % 5, elements, picked::<T>, turn);
        }
    }
    for bytes in BLOCKS {
        for elements in [bytes / size, bytes / size + 1] {
            turn += 1;
            let quarters = elements * size > 16 << 10;
            let at_once = if quarters { 1 } else { [1, 2, 3, 4][turn as usize % 4] };
            let block = Shape::Block { quarters, at_once };
            placed::<T>(2 + turn % 4, elements, |_| block, turn);
        }
    }
}

macro_rules! types {
    ($($test:ident $type:ty;)+) => {
        $(
            #[test]
            fn $test() {
                let all = ["f32s", "bf16s"].contains(&stringify!($test));
                check::<$type>(0, if all { 1 } else { 2 });
            }
        )+

        mod sweeps {
            use super::*;
            $(
                #[test]
                #[ignore = "a sweep: cargo x ci --sweeps"]
                fn $test() {
                    check::<$type>(0, 1);
                    check::<$type>(1, 1);
                }
            )+
        }
    };
}
types! {
    f32s f32; f64s f64; i32s i32; u32s u32; i64s i64; u64s u64; f16s f16; bf16s bf16; i8s i8; u16s u16; bools bool;
}

/// Tests rows of several chunks, each added by one block, by two blocks, or by as many blocks as
/// there are chunks. Few blocks are resident, and they wait for each other.
fn parts<T: Drawn + Bytes + Copy>() {
    let size = size_of::<T>() as u64;
    for (bytes, count) in [(49_160, 3), (100_008, 2), (196_616, 2), (400_000, 2)] {
        for elements in [bytes / size, bytes / size + 1] {
            let slice = shape::pick(elements, size).unwrap();
            let each = [slice.chunks(), slice.chunks().div_ceil(2), 1];
            for (turn, each) in each.into_iter().enumerate() {
                let rows = Rows::new(count, elements);
                let shift = (turn as u64 + elements) % 2;
                // With three rows and two blocks, one block adds two rows.
                let way = Way { shift, resident: [2, 1, 3][turn], ..PLAIN };
                holds::<T>(rows, Shape::Chunks { slice, each }, way);
            }
        }
    }
}

#[test]
fn chunks_of_f32s() {
    parts::<f32>();
}

#[test]
fn chunks_of_f64s() {
    parts::<f64>();
}

#[test]
fn chunks_of_i32s() {
    parts::<i32>();
}

#[test]
fn chunks_of_f16s() {
    parts::<f16>();
}

#[test]
fn chunks_under_other_schedules() {
    for (seed, bytes) in (1..=8).zip([49_160u64, 200_000].into_iter().cycle()) {
        let elements = bytes / 4 + seed % 2;
        let slice = shape::pick(elements, 4).unwrap();
        let each = [1, 3, slice.chunks()][seed as usize % 3];
        let way = Way { schedule: Schedule::Adversarial(seed), resident: 2, ..PLAIN };
        holds::<f32>(Rows::new(2, elements), Shape::Chunks { slice, each }, way);
    }
}

/// Tests rows with more chunks than one warp collects, and rows whose last chunk is a single
/// vector.
#[test]
fn chunks_of_long_rows() {
    let elements = 670_003;
    let slice = shape::pick(elements, 4).unwrap();
    assert_eq!(slice.chunks(), 160);
    for (each, shift) in [(160, 1), (16, 0)] {
        holds::<f32>(Rows::new(2, elements), Shape::Chunks { slice, each }, Way { shift, ..PLAIN });
    }
    // The rows have 32 long chunks, with more vectors per thread than are in flight.
    for (elements, shift) in [(32 * 2552 * 4 + 1, 3), (32 * 2552 * 4 + 7, 0)] {
        let slice = shape::pick(elements, 4).unwrap();
        assert_eq!((slice.chunks(), slice.vectors()), (32, 2560));
        for each in [32, 11] {
            let way = Way { shift, resident: 3, ..PLAIN };
            holds::<f32>(Rows::new(2, elements), Shape::Chunks { slice, each }, way);
        }
    }
    // The last of the 8 chunks has only one vector.
    for words in [7 * 392 + 1, 7 * 440 + 1] {
        let elements = 4 * words - 3;
        let slice = shape::Shape::Spread { chunks: 8, vectors: (words / 7) as u32 };
        if shape::pick(elements, 4) == Some(slice) {
            holds::<f32>(Rows::new(2, elements), Shape::Chunks { slice, each: 2 }, PLAIN);
        }
    }
}

/// Returns a shape of each kind for rows of `elements` elements of `size` bytes.
fn shapes(elements: u64, size: u64) -> Vec<Shape> {
    if elements * size < 16 {
        return vec![Shape::Short];
    }
    if elements * size > 48 << 10 {
        return vec![Shape::Chunks { slice: shape::pick(elements, size).unwrap(), each: 3 }];
    }
    if elements * size > 2048 {
        let quarters = elements * size > 16 << 10;
        return vec![Shape::Block { quarters, at_once: if quarters { 1 } else { 4 } }];
    }
    let lanes = (elements * size).div_ceil(16).next_power_of_two().min(32) as u32;
    let shape = |at_once| Shape::Lanes { lanes, at_once, threads: 64, persistent: at_once == 2 };
    vec![shape(1), shape(2), shape(4)]
}

/// The lengths of rows for all shapes, in bytes.
const ROWS: [u64; 7] = [8, 40, 520, 2048, 5_000, 20_000, 60_000];

/// Checks that infinities, NaNs and zeros of a row do not change its neighbours, which may share a
/// warp with it.
#[test]
fn special_rows_leave_their_neighbours_alone() {
    fn check<T: Drawn + Bytes>(of: fn(f32) -> T) {
        let size = size_of::<T>() as u64;
        let all = drawn::operations::<T>();
        for (bytes, turn) in ROWS.into_iter().zip(0..) {
            let elements = bytes / size + turn as u64 % 2;
            let rows = Rows::new(if bytes > 2048 { 5 } else { 11 }, elements);
            let values = mixed::<T>(&vec![elements as usize; rows.numbers().0 as usize], of);
            for (shape, i) in shapes(elements, size).into_iter().zip(turn..) {
                for operation in [all[i % all.len()], all[(i + 3) % all.len()]] {
                    let schedule = [Schedule::Converged, Schedule::Adversarial(9)][i % 2];
                    let way = Way { operation, schedule, shift: i as u64 % 3, ..PLAIN };
                    holds_for::<T, Itself>(&values, rows, shape, way);
                }
            }
        }
    }
    check::<f32>(|x| x);
    check::<f64>(f64::from);
    check::<f16>(f16::from_f32);
    check::<bf16>(bf16::from_f32);
}

/// Checks rows whose elements are converted to a wider type, or to ones and zeros.
#[test]
fn rows_of_converted_elements() {
    fn check<T: Drawn + Bytes + Read<W>, W>(all: &[Operation]) {
        let size = size_of::<T>() as u64;
        for (bytes, turn) in ROWS.into_iter().zip(0..) {
            let elements = (bytes / size).max(2) - turn as u64 % 2;
            let rows = Rows::new(5, elements);
            for (shape, i) in shapes(elements, size).into_iter().zip(turn..) {
                let operation = all[i % all.len()];
                let mut values = slice::<T>(5 * elements as usize, operation);
                // The first row has only the elements with the bits of zero.
                if size_of_val(&values[..]) < 4_000 {
                    let zero = values.iter().position(|x| host::count(&[*x]) == 0);
                    if let Some(zero) = zero {
                        let zero = values[zero];
                        values[..elements as usize].fill(zero);
                    }
                }
                let schedule = [Schedule::Converged, Schedule::MinPc][i % 2];
                let way = Way { operation, schedule, shift: i as u64 % 4, ..PLAIN };
                holds_for::<T, W>(&values, rows, shape, way);
            }
        }
    }
    let sums = [Operation::Sum, Operation::Min, Operation::Max];
    check::<f32, Wide>(Operation::ALL);
    check::<i32, Wide>(&sums);
    check::<u32, Wide>(&sums);
    check::<f32, Truth>(&sums);
    check::<f64, Truth>(&sums);
    check::<bf16, Truth>(&sums);
    check::<u8, Truth>(&sums);
    check::<i16, Truth>(&sums);
    check::<u8, Itself>(&sums);
    check::<i16, Itself>(&sums);
}

/// Checks that the sum of a row does not depend on the number of rows.
#[test]
fn a_row_alone_has_the_same_bits() {
    let values = slice::<f32>(3 * 1000, Operation::Sum);
    let all = host::sum_rows(&values, Rows::new(3, 1000)).unwrap();
    for (row, sum) in all.into_iter().enumerate() {
        let alone = host::sum(&values[row * 1000..][..1000]);
        assert_eq!(sum.to_bits(), alone.to_bits());
    }
    let apart = host::sum_rows(&values, Rows::new(2, 1000).pitch(2000)).unwrap();
    assert_eq!(apart[1].to_bits(), host::sum(&values[2000..]).to_bits());
}

#[test]
fn ptx_modules_are_short() {
    for family in samebits::rows::Family::ALL {
        for kernel in [
            samebits::rows_kernel::<f32>(Operation::Sum, family),
            samebits::rows_kernel::<f64>(Operation::Sum, family),
            samebits::rows_kernel::<i64>(Operation::Sum, family),
            samebits::rows_kernel::<bf16>(Operation::Sum, family),
        ] {
            let threads = format!(".maxntid {}, 1, 1", family.threads());
            let text = kernel.ptx(9);
            assert!(text.contains(&threads), "{}", kernel.name());
            assert!(text.len() <= 65_000, "{}: {}", kernel.name(), text.len());
        }
    }
}
