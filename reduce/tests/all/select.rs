//! Tests that the interpreter's indices and extremes have the bits of the host's, and that the
//! host's are those of a naive search.

use crate::drawn::{Drawn, slice};
use crate::machine::{Bytes, Machine};
use half::{bf16, f16};
use samebits::{
    Accumulator, Element, Operation, Rows, host,
    select::{Plan, kernel, plan},
};
use simt::{Arg, Schedule};

/// Returns the two results of each row, as bits: the values and the indices, or the minima and the
/// maxima.
fn play<T: Element + Bytes>(
    values: &[T],
    rows: Rows,
    sought: Option<Operation>,
    (turn, resident): (usize, u32),
) -> Vec<[u64; 2]> {
    let (schedule, shift, major, epoch) = match turn % 4 {
        0 => (Schedule::Converged, 0, 9, 0),
        1 => (Schedule::MinPc, 1, 7, 5),
        2 => (Schedule::Adversarial(turn as u64), 3, 9, 0),
        _ => (Schedule::Converged, 5, 9, 7),
    };
    let mut machine = Machine::new(schedule, major);
    let (count, elements, pitch) = rows.numbers();
    let epoch = if count == 1 { epoch } else { 0 };
    let sizes = [size_of::<T>() as u64, size_of::<T::Output>() as u64];
    let Plan { family, grid, each, chunks, state } =
        plan(rows, sizes, sought.is_some(), |_| resident).unwrap();
    let kernel = kernel::<T>(sought.unwrap_or(Operation::Min), family);
    let input = machine.elements(values, shift);
    let [first, second] = [0; 2].map(|_| machine.room(16 * count, 0xee));
    let slots = machine.room(state.max(16), 0);
    let args = vec![
        Arg::U64(input),
        Arg::U64(first),
        Arg::U64(second),
        Arg::U64(count),
        Arg::U64(elements),
        Arg::U64(pitch),
        Arg::U32(each),
        Arg::U32(chunks),
        Arg::U64(slots),
        Arg::U32(epoch),
    ];
    machine.run(kernel, grid, family.threads(), args);
    machine.is_zero(slots, state);
    let sizes = [size_of::<T::Output>(), if sought.is_some() { 8 } else { size_of::<T::Output>() }];
    if epoch > 0 {
        let read = |machine: &mut Machine, at, size: usize| {
            let halves = machine.words(at, size / 4, 8).into_iter().zip(0..);
            let low = |(word, half): (u64, u32)| {
                assert_eq!((word >> 32) as u32, epoch);
                (word & 0xffff_ffff) << (32 * half)
            };
            halves.map(low).sum()
        };
        return vec![[read(&mut machine, first, sizes[0]), read(&mut machine, second, sizes[1])]];
    }
    let first = machine.words(first, count as usize, sizes[0]);
    let second = machine.words(second, count as usize, sizes[1]);
    first.into_iter().zip(second).map(|(a, b)| [a, b]).collect()
}

/// Returns the results of a naive search: the first element whose bits are those of the minimum, of
/// the maximum or of the largest magnitude.
fn naive<T: Drawn>(values: &[T], operation: Operation) -> [u64; 2] {
    let bits = |values: &[T]| host::reduce(values, operation).to_bits64();
    let all = bits(values);
    let index = (0..values.len()).find(|at| bits(&values[*at..=*at]) == all);
    [all, index.unwrap() as u64]
}

/// The sizes of slices in bytes, one for each shape of a launch.
const BYTES: [usize; 4] = [2_044, 2_056, 16_400, 60_000];
const AWKWARD: [usize; 10] = [1, 2, 31, 32, 33, 63, 65, 255, 257, 1025];

fn sought<T: Element>() -> Vec<Option<Operation>> {
    let all = [Some(Operation::Min), Some(Operation::Max), Some(Operation::LargestMagnitude), None];
    all[..]
        .iter()
        .copied()
        .filter(|s| T::FLOAT || *s != Some(Operation::LargestMagnitude))
        .collect()
}

fn slices<T: Drawn + Bytes>() {
    let lengths = BYTES.map(|bytes| bytes / size_of::<T>());
    for (sought, turn) in sought::<T>().into_iter().zip(0..) {
        for (n, i) in AWKWARD.into_iter().chain(lengths).zip(turn..) {
            let values = slice::<T>(n, sought.unwrap_or(Operation::Max));
            let expected = match sought {
                Some(operation) => {
                    let found = host::find(&values, operation).unwrap();
                    let found = [found.value.to_bits64(), found.index];
                    if n < 2_000 {
                        assert_eq!(found, naive(&values, operation), "{operation:?} of {n}");
                    }
                    found
                }
                None => {
                    [Operation::Min, Operation::Max].map(|o| host::reduce(&values, o).to_bits64())
                }
            };
            let found = play(&values, Rows::new(1, n as u64), sought, (i, 3));
            assert_eq!(found, [expected], "{sought:?} of {n} {}, {i}", std::any::type_name::<T>());
        }
    }
}

#[test]
fn floats() {
    slices::<f32>();
    slices::<f64>();
}

#[test]
fn halves() {
    slices::<f16>();
    slices::<bf16>();
}

#[test]
fn integers() {
    slices::<i32>();
    slices::<u64>();
    slices::<i16>();
}

#[test]
fn bytes() {
    slices::<i8>();
    slices::<u8>();
    slices::<bool>();
}

#[test]
fn rows() {
    for (rows, i) in
        [(7, 1, 1), (70, 5, 8), (33, 33, 33), (5, 300, 301), (3, 1025, 1040), (4, 40_000, 40_001)]
            .into_iter()
            .zip(0..)
    {
        let (count, elements, pitch) = rows;
        let rows = Rows::new(count, elements).pitch(pitch);
        let n = rows.span().unwrap() as usize;
        let values = slice::<f32>(n, Operation::Max);
        for (sought, turn) in sought::<f32>().into_iter().zip(i..) {
            let expected: Vec<[u64; 2]> = match sought {
                Some(operation) => {
                    let found = host::find_rows(&values, operation, rows).unwrap();
                    found.iter().map(|found| [found.value.to_bits64(), found.index]).collect()
                }
                None => {
                    let both = host::min_max_rows(&values, rows).unwrap();
                    both.iter().map(|(low, high)| [low.to_bits64(), high.to_bits64()]).collect()
                }
            };
            let found = play(&values, rows, sought, (turn, 5));
            assert_eq!(found, expected, "{sought:?} of {rows:?}, {turn}");
        }
    }
}

/// Returns the value and the index that a single pass finds: the first number that is smaller or
/// larger than all before it, where -0 is below +0.
fn one_pass(values: &[f64], operation: Operation) -> (f64, u64) {
    let mut best: Option<(f64, u64)> = None;
    for (index, value) in (0..).zip(values) {
        let value = if operation == Operation::LargestMagnitude { value.abs() } else { *value };
        let better = |than: f64| match operation {
            Operation::Min => value.total_cmp(&than).is_lt(),
            _ => value.total_cmp(&than).is_gt(),
        };
        if !value.is_nan() && best.is_none_or(|(than, _)| better(than)) {
            best = Some((value, index));
        }
    }
    best.unwrap_or((f64::NAN, 0))
}

/// Checks slices and rows with many equal elements, infinities, NaNs and zeros of both signs.
fn ties<T: Drawn + Bytes>(of: fn(f32) -> T, to: fn(T) -> f64) {
    let some = [0.0, -0.0, 1.0, -1.0, f32::NAN, -f32::NAN, f32::INFINITY, -f32::INFINITY, 1e-40];
    let operations = [Operation::Min, Operation::Max, Operation::LargestMagnitude];
    for (n, turn) in [1, 2, 5, 33, 300, 1_100, 9_000].into_iter().zip(size_of::<T>()..) {
        // The kinds that occur differ, so that the extreme is not always an infinity.
        let all = [&some[..], &some[..6], &some[4..6], &some[..2], &some[1..5]];
        // The interpretation of long rows is slow.
        for kinds in all.into_iter().skip(if n > 2_000 { turn % 5 } else { 0 }) {
            let at = |i: usize| i.wrapping_mul(2_654_435_761) >> 7;
            let values: Vec<T> = (0..3 * n).map(|i| of(kinds[at(i + n) % kinds.len()])).collect();
            let rows = Rows::new(3, n as u64);
            for (operation, i) in operations.into_iter().zip(turn..) {
                let found = host::find_rows(&values, operation, rows).unwrap();
                for (found, row) in found.iter().zip(values.chunks(n)) {
                    let wide: Vec<f64> = row.iter().map(|value| to(*value)).collect();
                    let (value, index) = one_pass(&wide, operation);
                    let same =
                        |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                    assert!(same(found.value.to_double(), value), "{operation:?} of {wide:?}");
                    assert_eq!(found.index, index, "{operation:?} of {n} from {kinds:?}");
                    let alone = host::find(row, operation).unwrap();
                    assert_eq!(alone.index, index);
                    assert_eq!(alone.value.to_bits64(), found.value.to_bits64());
                }
                let expected: Vec<[u64; 2]> =
                    found.iter().map(|found| [found.value.to_bits64(), found.index]).collect();
                let played = play(&values, rows, Some(operation), (i, 3));
                assert_eq!(played, expected, "{operation:?} of {n} from {kinds:?}");
            }
        }
    }
}

#[test]
fn the_first_of_equal_elements_is_found() {
    ties::<f32>(|x| x, f64::from);
    ties::<f64>(f64::from, |x| x);
    ties::<f16>(f16::from_f32, f64::from);
    ties::<bf16>(bf16::from_f32, f64::from);
}

/// Checks rows of integers, which have many equal elements, against the standard library.
#[test]
fn rows_of_integers() {
    fn check<T: Drawn + Bytes + Ord>(turn: usize) {
        for (n, i) in [1usize, 7, 33, 700].into_iter().zip(turn..) {
            let values = slice::<T>(5 * n, Operation::Min);
            let rows = Rows::new(5, n as u64);
            for operation in [Operation::Min, Operation::Max] {
                let found = host::find_rows(&values, operation, rows).unwrap();
                for (found, row) in found.iter().zip(values.chunks(n)) {
                    let best = match operation {
                        Operation::Min => row.iter().min(),
                        _ => row.iter().max(),
                    };
                    let index = row.iter().position(|value| Some(value) == best).unwrap();
                    assert_eq!(found.index, index as u64, "{operation:?} of {n}");
                }
                let expected: Vec<[u64; 2]> =
                    found.iter().map(|found| [found.value.to_bits64(), found.index]).collect();
                assert_eq!(play(&values, rows, Some(operation), (i, 3)), expected);
            }
            let both = host::min_max_rows(&values, rows).unwrap();
            let both: Vec<[u64; 2]> =
                both.iter().map(|(low, high)| [low.to_bits64(), high.to_bits64()]).collect();
            assert_eq!(play(&values, rows, None, (i, 3)), both);
        }
    }
    check::<i8>(0);
    check::<u8>(1);
    check::<bool>(2);
    check::<i16>(3);
    check::<u16>(0);
    check::<i32>(1);
    check::<u64>(2);
}

/// Checks slices whose elements are all equal or all NaN, and empty slices.
#[test]
fn no_element_stands_out() {
    for n in [1, 40, 5_000, 100_003] {
        for values in [vec![-f32::NAN; n], vec![f32::NEG_INFINITY; n], vec![2.5; n], vec![-0.0; n]]
        {
            for operation in [Operation::Min, Operation::Max] {
                let found = play(&values, Rows::new(1, n as u64), Some(operation), (n, 4));
                let expected = host::find(&values, operation).unwrap();
                assert_eq!(found, [[expected.value.to_bits64(), 0]], "{operation:?} of {n}");
            }
        }
        let found = play(&vec![i32::MIN; n], Rows::new(1, n as u64), Some(Operation::Max), (n, 4));
        assert_eq!(found, [[0x8000_0000, 0]]);
    }
    for turn in 0..4 {
        let infinite = [f32::INFINITY.to_bits64(), f32::NEG_INFINITY.to_bits64()];
        assert_eq!(play::<f32>(&[], Rows::new(1, 0), None, (turn, 4)), [infinite]);
        assert_eq!(play::<u8>(&[], Rows::new(1, 0), None, (turn, 4)), [[255, 0]]);
    }
}
