//! Tests that the interpreter's results for columns have the bits of slices with the same elements.

use crate::drawn::{Drawn, mixed, operations, slice};
use crate::machine::{Bytes, Machine};
use half::{bf16, f16};
use samebits::{
    Accumulator, Columns, Element, Itself, Operation, Read, Truth, Wide,
    columns::{THREADS, allow_two, kernel_of, plan, plan_of},
    host,
};
use simt::{Arg, Schedule};

/// The numbers of batches, rows and columns, and the distance between rows.
type Layout = (u64, u64, u64, u64);

/// Returns the bits of the result of each column.
fn play<T: Element + Bytes + Read<W>, W>(
    values: &[T],
    columns: Columns,
    (batches, rows, inner, pitch): Layout,
    operation: Operation,
    turn: usize,
) -> Vec<u64> {
    let (schedule, major) = match turn % 3 {
        0 => (Schedule::Converged, 9),
        1 => (Schedule::MinPc, 7),
        _ => (Schedule::Adversarial(turn as u64), 9),
    };
    let mut machine = Machine::new(schedule, major);
    let input = machine.elements(values, turn % 2);
    let size = size_of::<<T as Read<W>>::Value>();
    let sizes = [size_of::<T>() as u64, size as u64];
    let two = allow_two(columns, sizes, input);
    let plan = plan_of(columns, sizes[0], two).unwrap();
    let results = batches * inner;
    let output = machine.room(results * size as u64, 0xee);
    let bytes = plan.bytes(size as u64);
    let state = machine.room(bytes.max(16), 0);
    let args = vec![
        Arg::U64(input),
        Arg::U64(output),
        Arg::U64(rows),
        Arg::U64(results),
        Arg::U64(inner),
        Arg::U64(rows * pitch),
        Arg::U64(pitch),
        Arg::U32(plan.shape.vectors()),
        Arg::U32(plan.shape.chunks()),
        Arg::U32(plan.shape.threads()),
        Arg::U32(plan.split),
        Arg::U32(plan.two.into()),
        Arg::U64(state),
        Arg::U64(state + plan.counters()),
    ];
    machine.run(kernel_of::<T, W>(operation), plan.grid, THREADS, args);
    machine.is_zero(state, bytes);
    machine.words(output, results as usize, size)
}

fn holds<T: Drawn + Bytes + Read<W>, W>(layout: Layout, operation: Operation, turn: usize) {
    let (batches, rows, inner, pitch) = layout;
    let n = ((batches - 1) * rows * pitch + rows.max(1) * pitch - (pitch - inner)) as usize;
    holds_for::<T, W>(&slice::<T>(n, operation), layout, operation, turn);
}

fn holds_for<T: Drawn + Bytes + Read<W>, W>(
    values: &[T],
    layout: Layout,
    operation: Operation,
    turn: usize,
) {
    let (batches, rows, inner, pitch) = layout;
    let columns = match batches {
        1 => Columns::new(rows, inner).pitch(pitch),
        _ => Columns::of_axis(&[batches, rows, inner], 1).unwrap(),
    };
    let expected = host::read_columns::<T, W>(values, operation, columns).unwrap();
    let expected: Vec<u64> = expected.into_iter().map(|value| value.to_bits64()).collect();
    let found = play::<T, W>(values, columns, layout, operation, turn);
    let name = std::any::type_name::<T>();
    assert_eq!(found, expected, "{operation:?} of {layout:?} {name}, {turn}");
}

/// The layouts of narrow and wide matrices and of tensors, with columns of every shape.
const LAYOUTS: [Layout; 11] = [
    (1, 1, 1, 2),
    (1, 3, 33, 33),
    (3, 31, 5, 5),
    (1, 33, 65, 70),
    (1, 257, 7, 7),
    (1, 700, 3, 4),
    (2, 1025, 2, 2),
    (1, 5_000, 2, 3),
    (1, 14_000, 3, 3),
    (1, 50_001, 1, 2),
    (1, 0, 3, 3),
];

#[test]
fn floats() {
    for (layout, turn) in LAYOUTS.into_iter().zip(0..) {
        holds::<f32, Itself>(layout, Operation::Sum, turn);
    }
    let operations = Operation::ALL.iter().zip([3, 4, 5, 6].into_iter().cycle());
    for ((operation, layout), turn) in operations.zip(0..) {
        holds::<f32, Itself>(LAYOUTS[layout], *operation, turn);
    }
}

#[test]
fn other_types() {
    for (layout, turn) in LAYOUTS.into_iter().take(9).zip(0..) {
        match turn % 6 {
            0 => holds::<i8, Itself>(layout, Operation::Sum, turn),
            1 => holds::<u16, Itself>(layout, Operation::Max, turn),
            2 => holds::<f32, Wide>(layout, Operation::Norm, turn),
            3 => holds::<i64, Itself>(layout, Operation::Min, turn),
            4 => holds::<f32, Truth>(layout, Operation::Sum, turn),
            _ => holds::<u32, Itself>(layout, Operation::Sum, turn),
        }
        holds::<bf16, Itself>(layout, Operation::Mean, turn);
        holds::<f64, Itself>(layout, Operation::Sum, turn);
    }
}

/// Checks 16-bit elements of which each lane loads two columns at once, and layouts and addresses
/// that do not allow this.
#[test]
fn two_columns_for_each_lane() {
    let layouts = [(1, 300, 66, 68), (2, 31, 64, 64), (1, 2_049, 66, 66), (1, 9_000, 64, 64)];
    for (layout, turn) in layouts.into_iter().cycle().zip(0..).take(12) {
        let operation = [Operation::Sum, Operation::Max, Operation::Norm][turn / 4];
        holds::<bf16, Itself>(layout, operation, turn);
        holds::<f16, Itself>(layout, operation, 2 * turn);
    }
    holds::<u16, Itself>((1, 300, 66, 66), Operation::Max, 2);
    holds::<i16, Itself>((1, 300, 66, 66), Operation::Sum, 2);
    holds::<bf16, Itself>((1, 300, 66, 67), Operation::Sum, 2);
    let of = |inner, pitch, address| {
        plan(Columns::new(300, inner).pitch(pitch), [2, 4], address).unwrap().two
    };
    const MANY: u64 = 1 << 20;
    let many = [of(MANY, MANY, 4), of(MANY, MANY + 1, 4), of(MANY - 1, MANY, 4), of(MANY, MANY, 2)];
    assert_eq!(many, [true, false, false, false]);
    assert!(!of(64, 64, 4), "a second multiprocessor would have no work");
}

/// Checks every type and operation for columns without elements, and for the only column of a matrix.
#[test]
fn every_type() {
    fn all<T: Drawn + Bytes>() {
        for (operation, turn) in operations::<T>().into_iter().zip(size_of::<T>()..) {
            for layout in [(1, 0, 3, 3), (1, 37, 1, 1), (2, 40, 9, 9)] {
                holds::<T, Itself>(layout, operation, turn);
            }
        }
    }
    macro_rules! types { ($($type:ty)+) => {$(all::<$type>();)+}; }
    types!(f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 bool);
    holds::<f32, Wide>((1, 0, 3, 3), Operation::Mean, 0);
    holds::<i32, Wide>((2, 40, 9, 9), Operation::Sum, 1);
    holds::<u32, Wide>((1, 700, 3, 4), Operation::Max, 2);
}

/// Checks that infinities, NaNs and zeros of a column do not change its neighbours.
#[test]
fn special_columns_leave_their_neighbours_alone() {
    fn check<T: Drawn + Bytes>(of: fn(f32) -> T) {
        for (operation, turn) in operations::<T>().into_iter().zip(0..) {
            let (rows, columns) = [(40, 35), (700, 10)][turn % 2];
            // A run of special elements becomes a column.
            let runs = mixed::<T>(&vec![rows; columns], of);
            let values: Vec<T> =
                (0..rows * columns).map(|i| runs[i % columns * rows + i / columns]).collect();
            let layout = (1, rows as u64, columns as u64, columns as u64);
            holds_for::<T, Itself>(&values, layout, operation, turn);
        }
    }
    check::<f32>(|x| x);
    check::<f64>(f64::from);
    check::<f16>(f16::from_f32);
}

#[test]
fn a_column_has_the_bits_of_a_slice() {
    let values = slice::<f32>(3_000, Operation::Sum);
    let sums = host::reduce_columns(&values, Operation::Sum, Columns::new(1_000, 3)).unwrap();
    for (column, sum) in sums.iter().enumerate() {
        let elements: Vec<f32> = values.iter().skip(column).step_by(3).copied().collect();
        assert_eq!(sum.to_bits(), host::sum(&elements).to_bits());
    }
    let rows = host::sum_rows(&values, samebits::Rows::new(3, 1_000)).unwrap();
    let axis = Columns::of_axis(&[3, 1_000], 1).unwrap();
    assert_eq!(host::reduce_columns(&values, Operation::Sum, axis).unwrap(), rows);
}
