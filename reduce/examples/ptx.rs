//! Writes the PTX of every kernel for slices and rows to a folder, for `ptxas` and `nvdisasm`.
//!
//! ```sh
//! cargo run -p samebits --example ptx -- FOLDER [7|9]
//! ```

use std::{env, fs, path::Path};

use half::{bf16, f16};
use samebits::{
    Element, Family, Itself, Kernel, Operation, Read, Truth, Wide, rows, stages::Stage,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = env::args().skip(1);
    let folder = args.next().ok_or("usage: ptx FOLDER [MAJOR COMPUTE CAPABILITY]")?;
    let major = args.next().map_or(Ok(9), |major| major.parse())?;
    fs::create_dir_all(&folder)?;
    let mut written = 0;
    let mut write = |kernel: Kernel| -> Result<(), Box<dyn std::error::Error>> {
        let ptx = kernel.ptx(major);
        if !ptx.is_empty() {
            fs::write(Path::new(&folder).join(kernel.name() + ".ptx"), ptx.as_bytes())?;
            written += 1;
        }
        Ok(())
    };
    macro_rules! all {
        ($($type:ty)+) => {$(
            for kernel in kernels::<$type, Itself>().chain(stages::<$type>()) {
                write(kernel)?;
            }
            let logical = |operation| matches!(operation, Operation::Sum | Operation::Min | Operation::Max);
            for kernel in of::<$type, Truth>(logical) {
                write(kernel)?;
            }
        )+};
    }
    all!(f32 f64 f16 bf16 i32 u32 i64 u64 i8 u8 i16 u16 bool);
    for kernel in kernels::<f32, Wide>().chain(kernels::<i32, Wide>()).chain(kernels::<u32, Wide>())
    {
        write(kernel)?;
    }
    println!("{written} kernels for compute capability {major} are in {folder}");
    Ok(())
}

/// Returns the kernels of all operations for elements that are converted as `W` specifies.
fn kernels<T: Element + Read<W>, W>() -> impl Iterator<Item = Kernel> {
    of::<T, W>(|operation| T::FLOAT || !operation.needs_floats())
}

fn of<T: Read<W>, W>(wanted: impl Fn(Operation) -> bool) -> impl Iterator<Item = Kernel> {
    let wanted = Operation::ALL.iter().copied().filter(move |operation| wanted(*operation));
    wanted.flat_map(|operation| {
        let slices = Family::ALL.map(|family| samebits::kernel_of::<T, W>(operation, family));
        let rows =
            rows::Family::ALL.map(|family| samebits::rows_kernel_of::<T, W>(operation, family));
        slices.into_iter().chain(rows)
    })
}

/// Returns the kernels for reductions over several GPUs.
fn stages<T: Element>() -> impl Iterator<Item = Kernel> {
    let wanted = Operation::ALL.iter().copied();
    let wanted = wanted.filter(|operation| samebits::stages::check::<T>(*operation).is_ok());
    wanted.flat_map(|operation| {
        Stage::ALL.map(|stage| samebits::stages::kernel::<T>(operation, stage))
    })
}
