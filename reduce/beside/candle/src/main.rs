//! Compares candle's sums (of all elements at once, and row by row) with those of samebits. Prints
//! the time of each call and the bits of its result as CSV.

use std::time::Instant;

use candle_core::{Device, Error, Result, Storage, Tensor};
use samebits::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;

type Way = fn(&Tensor) -> Result<Tensor>;
const WAYS: [(&str, Way); 3] = [
    ("candle sum_all", |x| x.sum_all()),
    ("candle rows", |x| {
        let n = x.elem_count();
        let rows = 1 << (n.ilog2() / 2);
        x.reshape((rows, n / rows))?.sum(1)?.sum_all()
    }),
    ("samebits", samebits_candle::sum_all),
];

const CALLS: u32 = 100;

/// Computes the sum without an adapter, as the crate's README does.
fn sum(x: &Tensor) -> Result<f32> {
    let (storage, layout) = x.storage_and_layout();
    let Storage::Cuda(storage) = &*storage else { candle_core::bail!("the tensor is not on a GPU") };
    let Some((begin, end)) = layout.contiguous_offsets() else { candle_core::bail!("call contiguous() first") };
    let slice = storage.as_cuda_slice::<f32>()?.slice(begin..end);
    samebits::sum(&storage.device.cuda_stream(), &slice).map_err(Error::wrap)
}

fn main() -> Result<()> {
    println!("way,clock,elements,round,ns,bits");
    let device = Device::new_cuda(0)?;
    let stream = device.as_cuda_device()?.cuda_stream();
    for power in [10, 14, 18, 20, 22, 24, 26, 28, 30] {
        let n = 1usize << power;
        let x = Tensor::randn(0f32, 1f32, n, &device)?;
        let on_cpu = samebits_candle::sum_all(&x.to_device(&Device::Cpu)?)?.to_scalar::<f32>()?;
        assert_eq!(sum(&x)?.to_bits(), on_cpu.to_bits());
        for (_, way) in WAYS {
            for _ in 0..5 {
                way(&x)?.to_scalar::<f32>()?;
            }
        }
        // Each function is called once in each round; every other round calls the functions in
        // reverse order.
        for call in 0..if power > 28 { CALLS / 5 } else { CALLS } {
            let mut ways = WAYS;
            if call % 2 == 1 {
                ways.reverse();
            }
            for (name, way) in ways {
                let start = stream.record_event(Some(CU_EVENT_DEFAULT)).map_err(Error::wrap)?;
                let sum = way(&x)?;
                let end = stream.record_event(Some(CU_EVENT_DEFAULT)).map_err(Error::wrap)?;
                let bits = sum.to_scalar::<f32>()?.to_bits();
                let ns = start.elapsed_ms(&end).map_err(Error::wrap)? * 1e6;
                println!("{name},gpu,{n},{call},{ns:.0},{bits:08x}");
                let start = Instant::now();
                let bits = way(&x)?.to_scalar::<f32>()?.to_bits();
                let ns = start.elapsed().as_nanos();
                println!("{name},host,{n},{call},{ns},{bits:08x}");
                if name == "samebits" && bits != on_cpu.to_bits() {
                    candle_core::bail!("the GPU's sum has the bits {bits:08x}, but the CPU's has {:08x}", on_cpu.to_bits());
                }
            }
        }
    }
    // Compares the sums of rows with those on the CPU, and a gradient with the result of its
    // formula.
    let x = Tensor::randn(0f32, 1f32, (100, 1000), &device)?;
    let sums = samebits_candle::sum_last(&x)?.to_vec1::<f32>()?;
    let on_cpu = samebits_candle::sum_last(&x.to_device(&Device::Cpu)?)?.to_vec1::<f32>()?;
    assert!(sums.iter().zip(&on_cpu).all(|(a, b)| a.to_bits() == b.to_bits()));
    let x = candle_core::Var::from_tensor(&x)?;
    let gradient = samebits_candle::sum_all(&x.sqr()?)?.backward()?;
    let wrong = (gradient.get(&x).unwrap() - (x.as_tensor() * 2.0)?)?.abs()?.sum_all()?;
    assert_eq!(wrong.to_scalar::<f32>()?, 0.0);
    eprintln!("the sums of rows equal those on the CPU, and the gradient is correct");
    Ok(())
}
