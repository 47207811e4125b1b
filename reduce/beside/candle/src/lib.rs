//! Sums of candle tensors, over all elements or over the last axis. The sums have the same bits on
//! every device, in every batch and on the CPU.
//!
//! Copy this file into your program. The storage of a candle tensor is a cudarc slice, which
//! samebits accepts directly.

use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, Error, Layout, Result, Shape, Tensor,
    cuda_backend::{CudaDType, CudaStorageSlice},
};
use samebits::{Element, Rows, cudarc::driver::CudaSlice, host};

/// Returns the sum of all elements, as a scalar. Sums of 16-bit floats are `f32`.
pub fn sum_all(x: &Tensor) -> Result<Tensor> {
    x.apply_op1(Sum { rows: false })
}

/// Returns the sums over the last axis. Each row's sum is bit-identical to the sum of that row
/// alone.
pub fn sum_last(x: &Tensor) -> Result<Tensor> {
    x.apply_op1(Sum { rows: true })
}

struct Sum {
    rows: bool,
}

impl Sum {
    /// Returns the rows to add, the offset of the first row, and the shape of the sums.
    fn plan(&self, layout: &Layout) -> Result<(Rows, usize, Shape)> {
        let Some((begin, end)) = layout.contiguous_offsets() else {
            candle_core::bail!("the tensor is not contiguous: call contiguous() first");
        };
        let dims = layout.dims();
        match (self.rows, dims.split_last()) {
            (false, _) => Ok((Rows::new(1, (end - begin) as u64), begin, Shape::from(()))),
            (true, Some((last, others))) => {
                let rows = others.iter().product::<usize>() as u64;
                Ok((Rows::new(rows, *last as u64), begin, Shape::from_dims(others)))
            }
            (true, None) => candle_core::bail!("a scalar has no last axis to sum over"),
        }
    }
}

impl CustomOp1 for Sum {
    fn name(&self) -> &'static str {
        "samebits-sum"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, begin, shape) = self.plan(layout)?;
        fn sums<T: Element>(all: &[T], rows: Rows, begin: usize) -> Result<Vec<T::Output>> {
            let (count, elements, _) = rows.numbers();
            let slice = &all[begin..begin + (count * elements) as usize];
            match (count, elements) {
                (1, _) => Ok(vec![host::sum(slice)]),
                (_, 0) => Ok(vec![host::sum::<T>(&[]); count as usize]),
                (0, _) => Ok(Vec::new()),
                _ => host::sum_rows(slice, rows).map_err(Error::wrap),
            }
        }
        let sums = match storage {
            CpuStorage::F32(x) => CpuStorage::F32(sums(x, rows, begin)?),
            CpuStorage::F64(x) => CpuStorage::F64(sums(x, rows, begin)?),
            CpuStorage::U32(x) => CpuStorage::U32(sums(x, rows, begin)?),
            CpuStorage::I32(x) => CpuStorage::I32(sums(x, rows, begin)?),
            CpuStorage::I64(x) => CpuStorage::I64(sums(x, rows, begin)?),
            CpuStorage::F16(x) => CpuStorage::F32(sums(x, rows, begin)?),
            CpuStorage::BF16(x) => CpuStorage::F32(sums(x, rows, begin)?),
            _ => candle_core::bail!("samebits does not sum this type: call to_dtype(F32) first"),
        };
        Ok((sums, shape))
    }

    fn cuda_fwd(&self, storage: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let (rows, begin, shape) = self.plan(layout)?;
        fn sums<T: Element>(x: &CudaSlice<T>, of: &CudaStorage, rows: Rows, begin: usize) -> Result<CudaStorage>
        where
            T::Output: CudaDType + samebits::cudarc::driver::DeviceRepr + samebits::cudarc::driver::ValidAsZeroBits,
        {
            let (device, (count, elements, _)) = (&of.device, rows.numbers());
            let mut sums = match elements {
                0 => device.alloc_zeros::<T::Output>(count as usize)?,
                // SAFETY: the launch below writes every sum.
                _ => unsafe { device.alloc::<T::Output>(count as usize) }?,
            };
            if count * elements > 0 {
                let slice = x.slice(begin..begin + (count * elements) as usize);
                let stream = device.cuda_stream();
                match count {
                    1 => samebits::sum_into(&stream, &slice, &mut sums),
                    _ => samebits::sum_rows_into(&stream, &slice, rows, &mut sums),
                }
                .map_err(Error::wrap)?;
            }
            Ok(CudaStorage::wrap_cuda_slice(sums, device.clone()))
        }
        let sums = match &storage.slice {
            CudaStorageSlice::F32(x) => sums(x, storage, rows, begin)?,
            CudaStorageSlice::F64(x) => sums(x, storage, rows, begin)?,
            CudaStorageSlice::U32(x) => sums(x, storage, rows, begin)?,
            CudaStorageSlice::I32(x) => sums(x, storage, rows, begin)?,
            CudaStorageSlice::I64(x) => sums(x, storage, rows, begin)?,
            CudaStorageSlice::F16(x) => sums(x, storage, rows, begin)?,
            CudaStorageSlice::BF16(x) => sums(x, storage, rows, begin)?,
            _ => candle_core::bail!("samebits does not sum this type: call to_dtype(F32) first"),
        };
        Ok((sums, shape))
    }

    fn bwd(&self, x: &Tensor, _sum: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let gradient = if self.rows { gradient.unsqueeze(x.rank() - 1)? } else { gradient.clone() };
        let gradient = gradient.to_dtype(x.dtype())?.broadcast_as(x.shape())?;
        Ok(Some(gradient))
    }
}

