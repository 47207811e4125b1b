//! Tests that the interpreter's results for lists and ragged rows have the bits of the host's, and
//! those of slices.

use crate::drawn::{Drawn, mixed, operations, slice};
use crate::machine::{Bytes, Machine};
use half::{bf16, f16};
use samebits::{
    Accumulator, Element, Itself, Operation, Read, Truth, Wide, host,
    lists::{ITEM, kernels_of, queue, ragged_room},
};
use simt::{Arg, Schedule};

fn machine(turn: usize) -> Machine {
    match turn % 3 {
        0 => Machine::new(Schedule::Converged, 9),
        1 => Machine::new(Schedule::MinPc, 7),
        _ => Machine::new(Schedule::Adversarial(turn as u64), 9),
    }
}

/// Returns the bits of the result of each slice, and of the result of all slices together.
fn list<T: Element + Bytes + Read<W>, W>(
    slices: &[&[T]],
    operation: Operation,
    turn: usize,
) -> (Vec<u64>, u64) {
    let mut machine = machine(turn);
    let size = size_of::<<T as Read<W>>::Value>();
    let count = slices.len();
    let place = |(i, slice): (usize, &&[T])| {
        (machine.elements(slice, (i + turn) % 3 / 2), slice.len() as u64)
    };
    let places: Vec<(u64, u64)> = slices.iter().enumerate().map(place).collect();
    let queued = queue(places, size_of::<T>() as u64).unwrap();
    let items = machine.elements(&queued.words, 0);
    let out = machine.room((count * size) as u64, 0xee);
    let total = machine.room(size as u64, 0xee);
    let own = 16 + queued.messages * 2 * size as u64;
    let bytes = own + (count * size * 2) as u64;
    let state = machine.room(bytes, 0);
    let args = vec![
        Arg::U64(items),
        Arg::U64(0),
        Arg::U64(queued.items()),
        Arg::U64(out),
        Arg::U64(total),
        Arg::U64(count as u64),
        Arg::U64(queued.elements),
        Arg::U64(state),
        Arg::U64(state + own),
    ];
    let [(kernel, threads), _] = kernels_of::<T, W>(operation);
    machine.run(kernel, queued.items().min(3 + turn as u64) as u32, threads, args);
    machine.is_zero(state, bytes);
    (machine.words(out, count, size), machine.words(total, 1, size)[0])
}

fn lists<T: Drawn + Bytes + Read<W>, W>(lengths: &[usize], operation: Operation, turn: usize) {
    let slices: Vec<Vec<T>> = lengths.iter().map(|n| slice::<T>(*n, operation)).collect();
    let slices: Vec<&[T]> = slices.iter().map(|slice| &slice[..]).collect();
    let (each, all) = host::read_list::<T, W>(&slices, operation).unwrap();
    let expected: Vec<u64> = each.into_iter().map(|value| value.to_bits64()).collect();
    let found = list::<T, W>(&slices, operation, turn);
    let name = std::any::type_name::<T>();
    assert_eq!(found, (expected, all.to_bits64()), "{operation:?} of {lengths:?} {name}, {turn}");
}

#[test]
fn a_list_has_the_bits_of_the_host() {
    let mixed = [1, 0, 513, 33, 5_000, 20_001, 2, 60_001, 255];
    lists::<f32, Itself>(&mixed, Operation::Norm, 0);
    lists::<f32, Itself>(&mixed, Operation::Mean, 1);
    lists::<bf16, Itself>(&mixed, Operation::SumOfSquares, 2);
    lists::<f64, Itself>(&mixed[..6], Operation::LargestMagnitude, 3);
    lists::<i8, Itself>(&mixed, Operation::Max, 4);
    lists::<f32, Wide>(&mixed[2..7], Operation::Norm, 5);
    lists::<u16, Truth>(&mixed[..5], Operation::Sum, 2);
    lists::<i32, Itself>(&[7; 200], Operation::Sum, 1);
    lists::<f32, Itself>(&[0, 0], Operation::Min, 0);
    lists::<u64, Itself>(&[1], Operation::Min, 0);
}

#[test]
fn a_slice_of_a_list_has_its_own_bits() {
    let slices = [slice::<f32>(1_000, Operation::Sum), slice::<f32>(70_000, Operation::Sum)];
    let (each, _) = host::reduce_list(&[&slices[0], &slices[1]], Operation::Norm).unwrap();
    for (norm, slice) in each.iter().zip(&slices) {
        assert_eq!(norm.to_bits(), host::reduce(slice, Operation::Norm).to_bits());
    }
    let exact: f64 = slices.iter().flatten().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let (_, all) = host::reduce_list(&[&slices[0], &slices[1]], Operation::SumOfSquares).unwrap();
    assert!((f64::from(all) / exact - 1.0).abs() < 1e-6);
    assert!(
        host::reduce_list::<f32>(&[], Operation::Sum)
            .unwrap_err()
            .to_string()
            .contains("no slices")
    );
}

/// Returns the bits of the results of ragged rows, and the word for bad offsets.
fn ragged<T: Element + Bytes + Read<W>, W>(
    values: &[T],
    offsets: &[u64],
    operation: Operation,
    turn: usize,
) -> (Vec<u64>, u64) {
    let mut machine = machine(turn);
    let size = size_of::<<T as Read<W>>::Value>();
    let rows = offsets.len() as u64 - 1;
    let n = values.len() as u64;
    let input = machine.elements(values, turn % 2);
    let wide = turn.is_multiple_of(2);
    let short: Vec<u32> = offsets.iter().map(|offset| *offset as u32).collect();
    let at = if wide { machine.elements(offsets, 0) } else { machine.elements(&short, 0) };
    let [capacity, messages] = ragged_room(n, size_of::<T>() as u64);
    let own = 16 + messages * 2 * size as u64;
    let state = machine.room(own + 24, 0);
    let items = machine.room(capacity * ITEM as u64 * 4, 0xee);
    let output = machine.room(rows * size as u64, 0xee);
    let bad = machine.room(8, 0);
    let [(adds, threads), (puts, few)] = kernels_of::<T, W>(operation);
    let args = vec![
        Arg::U64(input),
        Arg::U64(at),
        Arg::U32(wide.into()),
        Arg::U64(n),
        Arg::U64(output),
        Arg::U64(rows),
        Arg::U64(items),
        Arg::U64(capacity),
        Arg::U64(messages),
        Arg::U64(state + own),
        Arg::U64(bad),
    ];
    machine.run(puts, rows.div_ceil(few.into()).min(3) as u32, few, args);
    let args = vec![
        Arg::U64(items),
        Arg::U64(state + own),
        Arg::U64(capacity),
        Arg::U64(output),
        Arg::U64(0),
        Arg::U64(0),
        Arg::U64(0),
        Arg::U64(state),
        Arg::U64(0),
    ];
    machine.run(adds, capacity.min(4) as u32, threads, args);
    machine.is_zero(state, own + 24);
    let bad = machine.words(bad, 1, 8)[0];
    (machine.words(output, rows as usize, size), bad)
}

fn rows<T: Drawn + Bytes + Read<W>, W>(lengths: &[u64], operation: Operation, turn: usize) {
    let mut offsets = vec![0];
    offsets.extend(lengths.iter().scan(0, |end, n| {
        *end += n;
        Some(*end)
    }));
    let values = slice::<T>(*offsets.last().unwrap() as usize, operation);
    let expected = host::read_ragged::<T, W>(&values, operation, &offsets).unwrap();
    let expected: Vec<u64> = expected.into_iter().map(|value| value.to_bits64()).collect();
    let found = ragged::<T, W>(&values, &offsets, operation, turn);
    let name = std::any::type_name::<T>();
    assert_eq!(found, (expected, 0), "{operation:?} {name}, {turn}");
}

#[test]
fn ragged_rows_have_the_bits_of_the_host() {
    let mixed = [3, 0, 1, 4, 5, 33, 0, 700, 513, 17, 2, 20_001, 5_000, 60_001, 3, 3];
    let short: Vec<u64> = (0..900).map(|i| i * 7 % 11).collect();
    rows::<f32, Itself>(&mixed, Operation::Sum, 0);
    rows::<f32, Itself>(&short, Operation::Mean, 1);
    rows::<bf16, Itself>(&mixed, Operation::Norm, 2);
    rows::<f64, Itself>(&mixed[..14], Operation::Min, 3);
    rows::<u8, Itself>(&mixed, Operation::Sum, 4);
    rows::<i32, Itself>(&short, Operation::Max, 5);
    rows::<f32, Wide>(&mixed[..12], Operation::SumOfSquares, 0);
    rows::<i64, Truth>(&short, Operation::Sum, 1);
    rows::<f32, Itself>(&[0, 0, 0, 600_000, 0], Operation::Sum, 2);
}

/// Checks every type and operation for short lists and rows, some of which are empty.
#[test]
fn every_type() {
    fn all<T: Drawn + Bytes>() {
        let size = size_of::<T>();
        let lengths = [0, 1, 16 / size + 1, 40, 0, 2_056 / size, 5_000 / size];
        for (operation, turn) in operations::<T>().into_iter().zip(size..) {
            lists::<T, Itself>(&lengths, operation, turn);
            rows::<T, Itself>(&lengths.map(|n| n as u64), operation, turn);
        }
    }
    macro_rules! types { ($($type:ty)+) => {$(all::<$type>();)+}; }
    types!(f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 bool);
    lists::<i32, Wide>(&[0, 33, 700], Operation::Sum, 0);
    rows::<u32, Wide>(&[0, 33, 700], Operation::Max, 1);
    rows::<bf16, Truth>(&[0, 33, 3_000], Operation::Min, 2);
}

/// Checks that infinities, NaNs and zeros of a row do not change its neighbours, in rows that begin
/// after the first element and some of which are empty, and in lists.
#[test]
fn special_rows_leave_their_neighbours_alone() {
    fn check<T: Drawn + Bytes>(of: fn(f32) -> T) {
        let lengths = [5, 0, 3, 33, 0, 4, 700, 2, 9, 1_100, 0, 1, 300, 5_001, 2, 0, 13_000, 40, 0];
        let values = mixed::<T>(&lengths, of);
        let ends = lengths.iter().scan(0, |end, n| {
            *end += *n as u64;
            Some(*end)
        });
        let offsets: Vec<u64> = ends.collect();
        let parts: Vec<&[T]> =
            offsets.windows(2).map(|ends| &values[ends[0] as usize..ends[1] as usize]).collect();
        let bits = |values: Vec<T::Output>| -> Vec<u64> {
            values.into_iter().map(|value| value.to_bits64()).collect()
        };
        for (operation, turn) in operations::<T>().into_iter().zip(0..) {
            let name = format!("{operation:?} {}", std::any::type_name::<T>());
            let expected = host::reduce_ragged(&values, operation, &offsets).unwrap();
            let found = ragged::<T, Itself>(&values, &offsets, operation, turn);
            assert_eq!(found, (bits(expected), 0), "{name}");
            let (each, all) = host::reduce_list(&parts, operation).unwrap();
            let found = list::<T, Itself>(&parts, operation, turn);
            assert_eq!(found, (bits(each), all.to_bits64()), "{name}");
        }
    }
    check::<f32>(|x| x);
    check::<f64>(f64::from);
    check::<bf16>(bf16::from_f32);
}

/// Checks rows and slices without elements, whose means are NaN, and offsets without rows.
#[test]
fn empty_rows_have_the_results_of_empty_slices() {
    for (operation, turn) in operations::<f32>().into_iter().zip(0..) {
        rows::<f32, Itself>(&[0; 40], operation, turn);
        lists::<f32, Itself>(&[0; 3], operation, turn);
    }
    rows::<u8, Itself>(&[0; 3], Operation::Min, 0);
    let means = host::reduce_ragged::<f32>(&[], Operation::Mean, &[0, 0]).unwrap();
    assert_eq!(means[0].to_bits(), 0x7fff_ffff);
    assert!(host::reduce_ragged(&[1.0f32], Operation::Sum, &[1]).unwrap().is_empty());
    // A row with bad offsets, and long rows that do not fit into the queue, count as empty.
    let values = slice::<f32>(5_000, Operation::Mean);
    let (found, _) = ragged::<f32, Itself>(&values, &[0, 7, 3], Operation::Mean, 1);
    assert_eq!(found[1], 0x7fff_ffff);
    let again: Vec<u64> = [0, 5_000].repeat(40);
    let (found, _) = ragged::<f32, Itself>(&values, &again, Operation::Mean, 0);
    let mean = host::reduce(&values, Operation::Mean).to_bits64();
    assert!(found.iter().all(|value| [0x7fff_ffff, mean].contains(value)), "{found:x?}");
}

/// Checks that bad offsets are reported, and that no access is out of bounds.
#[test]
fn bad_offsets_are_found() {
    let values = slice::<f32>(5_000, Operation::Sum);
    let sum = |range: std::ops::Range<usize>| host::sum(&values[range]).to_bits64();
    let (found, bad) =
        ragged::<f32, Itself>(&values, &[0, 7, 3, 10, 5_001, 5_000], Operation::Sum, 0);
    assert_eq!((found, !bad), (vec![sum(0..7), 0, sum(3..10), 0, 0], 1));
    // Many rows that each have all elements do not fit into the queue.
    let again: Vec<u64> = [0, 5_000].repeat(40);
    let (found, bad) = ragged::<f32, Itself>(&values, &again, Operation::Sum, 1);
    assert_ne!(bad, 0);
    assert!(found.iter().all(|value| [0, sum(0..5_000)].contains(value)));
    let error = host::reduce_ragged(&values, Operation::Sum, &[0, 7, 3]).unwrap_err().to_string();
    assert!(error.contains("row 1 has offsets 7 to 3, but the slice has 5000"), "{error}");
    assert!(host::reduce_ragged(&values, Operation::Sum, &[]).is_err());
}
