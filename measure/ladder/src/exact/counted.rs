//! Verifies the same sums in the interpreter, and counts their warp instructions.

use common::{Error, Result};
use measured::{exact::PLAIN, table::Table};
use reduce::{
    Accumulator, Family, Kernel, Operation, host,
    launch::{self, Cut},
    shape,
};
use simt::{Arg, Counters, Gpu, Launch, Module};

use super::data::{Data, Summed};

/// The number of multiprocessors of an H100 or H200.
const MULTIPROCESSORS: u32 = 132;

/// A launch of one of the kernels.
struct Call {
    way: &'static str,
    kernel: Kernel,
    /// The first elements of the inputs.
    inputs: Vec<u64>,
    n: u64,
    grid: u32,
    chunks: u32,
    vectors: u32,
    threads: u32,
    /// The size of the zeroed memory, in bytes.
    state: u64,
    /// The bits of the result.
    expected: u64,
}

/// Returns a table with the number of warp instructions of each kernel, for each kind of data and
/// each size.
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

/// Returns the launches for the plain sum, the exact sum, and the exact dot product of the slice's
/// halves.
fn calls<T: Summed>(values: &[T]) -> Result<Vec<Call>> {
    let (n, size) = (values.len() as u64, size_of::<T>() as u64);
    let shape = shape::pick(n, size).ok_or_else(|| {
        Error::Usage(format!("one call cannot add {n} elements: pass a smaller `--n`"))
    })?;
    let plain = Call {
        way: PLAIN,
        kernel: reduce::kernel::<T>(Operation::Sum, Family::of(shape, true)),
        inputs: vec![0],
        n,
        grid: shape.chunks().min(4 * MULTIPROCESSORS),
        chunks: shape.chunks(),
        vectors: shape.vectors(),
        threads: shape.threads(),
        state: 16 + u64::from(shape.values()) * size_of::<T::Output>() as u64 * 2,
        expected: host::sum(values).to_bits64(),
    };
    let exact = |way, kernel, inputs, n, cut: Cut, expected| {
        let resident = cut.resident * MULTIPROCESSORS;
        let (chunks, vectors) = cut.chunks(n, size, resident);
        let (grid, threads, state) = (chunks.min(resident), cut.threads, launch::STATE as u64);
        Call { way, kernel, inputs, n, grid, chunks, vectors, threads, state, expected }
    };
    let expected = host::exact_sum(values).to_bits64();
    let sum = exact("exact sum", T::KERNEL, vec![0], n, T::CUT, expected);
    let half = n / 2;
    let (a, b) = values[..2 * half as usize].split_at(half as usize);
    let expected = host::exact_dot(a, b).map_err(|e| Error::Usage(e.to_string()))?.to_bits64();
    let dot = exact("exact dot", T::DOT, vec![0, half], half, T::DOT_CUT, expected);
    Ok(vec![plain, sum, dot])
}

/// Runs a kernel, and returns the number of its warp instructions. Fails if the kernel's result is
/// wrong.
fn play<T: Summed>(values: &[T], call: &Call, data: Data) -> Result<u64> {
    let what = |error: &dyn std::fmt::Display| {
        Error::Findings(format!(
            "{}, {} {} of {}: {error}",
            call.kernel.name(),
            values.len(),
            T::NAME,
            data.name()
        ))
    };
    let module = Module::parse(&call.kernel.ptx(9)).map_err(|e| what(&e))?;
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
        entry: &call.kernel.name(),
        grid: [call.grid, 1, 1],
        block: [call.threads, 1, 1],
        cluster: [1, 1, 1],
        shared: 0,
        args: inputs.chain(rest).collect(),
    };
    let mut watch = simt::counting(Counters::default());
    gpu.launch_watched(&module, &launch, Some(&mut watch)).map_err(|e| what(&e))?;
    let mut bytes = [0; 8];
    let found = &mut bytes[..size_of::<T::Output>()];
    gpu.read(output, found).map_err(|e| what(&e))?;
    let (found, expected) = (u64::from_le_bytes(bytes), call.expected);
    if found != expected {
        let text =
            format!("the result has the bits {found:#x}, but the host returns {expected:#x}");
        return Err(what(&text));
    }
    Ok(simt::counted(watch).total.warp_insts)
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
