//! Verifies the exact sums of one kind of data, and times them against the plain sum.

use common::{
    Error, Result,
    device::{Address, Cuda, cuda::Memory},
};
use measured::exact::{PLAIN, Taken};
use reduce::{Accumulator, Reducer, host};

use super::{
    data::{Data, Summed},
    options::Options,
};
use crate::{
    competitors::Borrowed,
    gated::{Slots, Way, gated},
    rig::Rig,
    rounds::Held,
};

/// The number of distinct values; larger inputs repeat them. The number is prime, so no power of
/// two is a multiple of it.
const DRAWN: usize = 1_000_003;

/// The total size of the input's copies, in bytes. Samples read the copies in rotation, so that
/// each sample finds its input outside L2.
const ROTATION: u64 = 1 << 30;

/// The elements of one kind of data, on the host and on the device; there are enough for the
/// largest size.
pub(super) struct Input<T> {
    data: Data,
    values: Vec<T>,
    memory: Memory,
}

impl<T: Summed> Input<T> {
    /// Draws elements for sizes up to `most`.
    pub(super) fn draw(rig: &Rig, data: Data, most: u64, seed: u64) -> Result<Input<T>> {
        let cuda = rig.device.gpu()?;
        let few: Vec<T> = data.draw(DRAWN, seed);
        let values: Vec<T> = few.iter().copied().cycle().take(most as usize).collect();
        let used = (most * size_of::<T>() as u64).next_multiple_of(128);
        let memory = cuda.alloc("the elements", (2 * used).max(ROTATION))?;
        cuda.fill(&memory, 0)?;
        cuda.write(&memory, 0, bytemuck::cast_slice(&values))?;
        cuda.repeat(&memory, used)?;
        Ok(Input { data, values, memory })
    }
}

/// Returns the functions, each with the bits that its result must have.
fn ways<'r, T: Summed>(
    cuda: &'r Cuda,
    reducer: &'r Reducer<T>,
    out: &'r Memory,
    values: &[T],
) -> Result<Vec<(Way<'r>, u64)>> {
    let n = values.len() as u64;
    let result = || Borrowed::new(cuda, out.address(), 1);
    let plain = move |at: Address<'_>| {
        reducer.sum_into(&Borrowed::new(cuda, at, n)?, &mut result()?).map_err(failed)
    };
    let exact = move |at: Address<'_>| {
        reducer.exact_sum_into(&Borrowed::new(cuda, at, n)?, &mut result()?).map_err(failed)
    };
    let mut ways = vec![
        (Way { name: PLAIN.into(), run: Box::new(plain) }, host::sum(values).to_bits64()),
        (
            Way { name: "exact sum".into(), run: Box::new(exact) },
            host::exact_sum(values).to_bits64(),
        ),
    ];
    // The two halves of the slice; together, they have as many bytes as the sums read.
    let half = values.len() / 2;
    let dot = move |at: Address<'_>| {
        let a = Borrowed::new(cuda, at, half as u64)?;
        let b = Borrowed::new(cuda, at.skip((half * size_of::<T>()) as u64), half as u64)?;
        reducer.exact_dot_into(&a, &b, &mut result()?).map_err(failed)
    };
    let expected = host::exact_dot(&values[..half], &values[half..2 * half]).map_err(failed)?;
    ways.push((Way { name: "exact dot".into(), run: Box::new(dot) }, expected.to_bits64()));
    Ok(ways)
}

/// Verifies and times one size.
pub(super) fn measure<T: Summed>(
    rig: &Rig,
    options: &Options,
    input: &Input<T>,
    n: u64,
    mhz: &mut u32,
) -> Result<Vec<Taken>> {
    let cuda = rig.device.gpu()?;
    let reducer = Reducer::<T>::new(cuda.shared_stream()).map_err(failed)?;
    let out = cuda.alloc("the result", 8)?;
    let first = input.memory.address();
    let all = ways(cuda, &reducer, &out, &input.values[..n as usize])?;
    let mut ways = Vec::new();
    for (way, expected) in all {
        // A wrong result must not be timed.
        cuda.fill(&out, 0xff)?;
        (way.run)(first)?;
        let mut bytes = [0; 8];
        cuda.read(&out, &mut bytes)?;
        let found = u64::from_le_bytes(bytes) & (u64::MAX >> (64 - 8 * size_of::<T::Output>()));
        if found != expected {
            return Err(Error::Findings(format!(
                "reduce, {}: the result for {n} {} elements of {} data has the bits {found:#x}, but reduce::host returns {expected:#x}",
                way.name,
                T::NAME,
                input.data.name(),
            )));
        }
        ways.push(way);
    }
    let slots = Slots::of(n * size_of::<T>() as u64, first.bytes());
    let next = || first.skip(slots.next());
    let read = || rig.monitor.sm_mhz();
    let mut held = Held { read: &read, mhz: *mhz };
    let times = gated(cuda, &ways, options.rounds, &mut held, &next)?;
    *mhz = held.mhz;
    let taken = ways.iter().zip(times).flat_map(|(way, times)| {
        times.into_iter().map(|(round, ns)| Taken {
            element: T::NAME.into(),
            data: input.data.name(),
            n,
            way: way.name.clone(),
            round,
            ns,
        })
    });
    Ok(taken.collect())
}

fn failed(error: reduce::Error) -> Error {
    Error::Cuda { doing: "summing with reduce".into(), text: error.to_string() }
}
