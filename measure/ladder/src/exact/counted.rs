//! The same sums in the interpreter: verified, and their warp instructions counted.

use common::{Error, Result};
use measured::{exact::PLAIN, table::Table};
use reduce::{Accumulator, Family, Kernel, Operation, host, launch, shape};
use simt::{Arg, Counters, Gpu, Launch, Module};

use super::data::{Data, Summed};

/// Blocks that are resident at once: four on each multiprocessor of an H200.
const RESIDENT: u32 = 4 * 132;

/// A launch of one of the kernels.
struct Call {
    way: &'static str,
    kernel: Kernel,
    /// The first elements of the inputs.
    inputs: Vec<u64>,
    n: u64,
    chunks: u32,
    vectors: u32,
    threads: u32,
    /// Bytes of zeroed memory.
    state: u64,
    /// The bits of the result.
    expected: u64,
}

/// The warp instructions of each kernel, for each kind of data and size.
pub(super) fn table<T: Summed>(kinds: &[Data], sizes: &[u64], seed: u64) -> Result<String> {
    let mut table: Option<Table> = None;
    for &data in kinds {
        for &n in sizes {
            let values: Vec<T> = data.draw(n as usize, seed);
            let calls = calls(&values)?;
            let figures = calls.iter().map(|call| play(&values, call, data));
            let figures: Vec<u64> = figures.collect::<Result<_>>()?;
            let ratios = figures[1..].iter().map(|count| *count as f64 / figures[0] as f64);
            let cells = figures.iter().map(|count| numbers::group(*count));
            let cells = cells.chain(ratios.map(|ratio| format!("{ratio:.2}")));
            let table = table.get_or_insert_with(|| {
                let heads = calls.iter().map(|call| call.way.to_owned());
                let ratios = calls[1..].iter().map(|call| format!("{} / {PLAIN}", call.way));
                let first = [format!("{}, warp instructions", T::NAME), "n".into()];
                Table::new(first.into_iter().chain(heads).chain(ratios))
            });
            table.row([data.name(), numbers::size(n)].into_iter().chain(cells));
        }
    }
    Ok(table.map_or_else(String::new, |table| table.to_string()))
}

/// The plain sum, the exact sum, and the exact dot product of the slice's halves.
fn calls<T: Summed>(values: &[T]) -> Result<Vec<Call>> {
    let (n, size) = (values.len() as u64, size_of::<T>() as u64);
    let shape = shape::pick(n, size)
        .ok_or_else(|| Error::Usage(format!("{n} elements are more than one call adds")))?;
    let plain = Call {
        way: PLAIN,
        kernel: reduce::kernel::<T>(Operation::Sum, Family::of(shape, true)),
        inputs: vec![0],
        n,
        chunks: shape.chunks(),
        vectors: shape.vectors(),
        threads: shape.threads(),
        state: 16 + u64::from(shape.values()) * size_of::<T::Output>() as u64 * 2,
        expected: host::sum(values).to_bits64(),
    };
    let (threads, state) = (launch::THREADS, launch::STATE as u64);
    let (chunks, vectors) = launch::cut(n, size, RESIDENT);
    let expected = host::exact_sum(values).to_bits64();
    let (kernel, inputs) = (T::KERNEL, vec![0]);
    let exact =
        Call { way: "exact sum", kernel, inputs, n, chunks, vectors, threads, state, expected };
    let mut calls = vec![plain, exact];
    if let Some(kernel) = T::DOT {
        let half = n / 2;
        let (chunks, vectors) = launch::cut_pair(half, size, RESIDENT);
        let (a, b) = values[..2 * half as usize].split_at(half as usize);
        let expected = host::exact_dot(a, b).map_err(|e| Error::Usage(e.to_string()))?.to_bits64();
        let (way, inputs, n) = ("exact dot", vec![0, half], half);
        calls.push(Call { way, kernel, inputs, n, chunks, vectors, threads, state, expected });
    }
    Ok(calls)
}

/// Runs a kernel, and returns its warp instructions. Fails if its result is wrong.
fn play<T: Summed>(values: &[T], call: &Call, data: Data) -> Result<u64> {
    let what = |error: &dyn std::fmt::Display| {
        Error::Findings(format!(
            "{}, {} {} of {}: {error}",
            call.kernel.name,
            values.len(),
            T::NAME,
            data.name()
        ))
    };
    let module = Module::parse(call.kernel.ptx(9)).map_err(|e| what(&e))?;
    let mut gpu = Gpu::new();
    let bytes: &[u8] = bytemuck::cast_slice(values);
    let (input, output, state) = (|| {
        let input = gpu.alloc(bytes.len() as u64)?;
        gpu.write(input, bytes)?;
        let (output, state) = (gpu.alloc(16)?, gpu.alloc(call.state)?);
        gpu.fill(state, 0, call.state)?;
        Ok((input, output, state))
    })()
    .map_err(|e: simt::Error| what(&e))?;
    let grid = call.chunks.min(RESIDENT);
    let size = size_of::<T>() as u64;
    let inputs = call.inputs.iter().map(|first| Arg::U64(input + first * size));
    let rest = [
        Arg::U64(output),
        Arg::U64(call.n),
        Arg::U32(call.vectors),
        Arg::U32(call.chunks),
        Arg::U64(state),
        Arg::U32(0),
    ];
    let launch = Launch {
        entry: call.kernel.name,
        grid: [grid, 1, 1],
        block: [call.threads, 1, 1],
        cluster: [1, 1, 1],
        shared: 0,
        args: inputs.chain(rest).collect(),
    };
    let mut counters = Counters::default();
    gpu.launch(&module, &launch, &mut counters).map_err(|e| what(&e))?;
    let mut bytes = [0; 8];
    let found = &mut bytes[..size_of::<T::Output>()];
    gpu.read(output, found).map_err(|e| what(&e))?;
    let (found, expected) = (u64::from_le_bytes(bytes), call.expected);
    if found != expected {
        let text =
            format!("the result has the bits {found:#x}, but the host returns {expected:#x}");
        return Err(what(&text));
    }
    Ok(counters.total.warp_insts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_kind_and_size() {
        let text = table::<f64>(&[Data::Uniform, Data::Largest], &[1, 300], 1).unwrap();
        assert_eq!(text.lines().count(), 2 + 4, "{text}");
        let text = table::<half::f16>(&[Data::Pairs], &[7], 1).unwrap();
        assert!(text.contains("exact dot / sum"), "{text}");
    }

    #[test]
    fn a_wrong_result_is_an_error() {
        let values: Vec<f32> = Data::Normal.draw(100, 1);
        let mut call = calls(&values).unwrap().remove(1);
        assert!(play(&values, &call, Data::Normal).unwrap() > 0);
        call.expected ^= 1;
        let error = play(&values, &call, Data::Normal).unwrap_err().to_string();
        assert!(error.contains("but the host returns"), "{error}");
    }
}
