//! Computes a sum on a GPU with cudarc alone: the program on the book's page *Your first program*.
#![expect(unsafe_code, reason = "a launch passes arguments that Rust cannot check")]

// ANCHOR: program
use std::{error::Error, mem::swap, sync::Arc};

use cudarc::{
    driver::{CudaContext, LaunchConfig, PushKernelArg, sys::CUevent_flags::CU_EVENT_DEFAULT},
    nvrtc::{CompileError, Ptx, compile_ptx},
};

const THREADS: u32 = 256;

fn main() -> Result<(), Box<dyn Error>> {
    // 1. Compile the kernel, which needs no GPU.
    let ptx = compile(include_str!("sum.cu"))?;
    // 2. Choose a device and look up the kernel by its name; the device's default stream runs
    //    operations in the order in which they are queued.
    let context = device()?;
    let stream = context.default_stream();
    let reduce = context.load_module(ptx)?.load_function("reduce")?;
    // 3. Allocate device memory, and copy the input to it.
    let input: Vec<f32> = (0..1 << 20).map(|i| (i % 10) as f32).collect();
    let mut n = input.len() as u64;
    let mut from = stream.clone_htod(&input)?;
    let mut to = stream.alloc_zeros::<f32>(n.div_ceil(THREADS.into()) as usize)?;
    // 4. Launch until one value is left. Each launch reads the output of the previous
    // one, so the second launch overwrites the input.
    let start = stream.record_event(Some(CU_EVENT_DEFAULT))?;
    while n > 1 {
        let blocks = n.div_ceil(THREADS.into());
        let config = LaunchConfig {
            grid_dim: (blocks.try_into()?, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: THREADS * size_of::<f32>() as u32,
        };
        let mut launch = stream.launch_builder(&reduce);
        launch.arg(&from).arg(&mut to).arg(&n);
        // SAFETY: the kernel takes arguments of these types, and accesses only `n` elements and
        // `blocks` sums.
        unsafe { launch.launch(config)? };
        swap(&mut from, &mut to);
        n = blocks;
    }
    let end = stream.record_event(Some(CU_EVENT_DEFAULT))?;
    // 5. Copy the result back, which waits for the launches, and check it.
    let sum = stream.clone_dtoh(&from.slice(0..1))?[0];
    let expected: f32 = input.iter().sum();
    println!("{}: sum {sum}, expected {expected}", context.name()?);
    println!("{:.3} ms, the first time", start.elapsed_ms(&end)?);
    if sum == expected { Ok(()) } else { Err("the sum is wrong".into()) }
}
// ANCHOR_END: program

// ANCHOR: libraries
/// Compiles a kernel, and prints the compiler's messages if the source has errors.
fn compile(source: &str) -> Result<Ptx, Box<dyn Error>> {
    // SAFETY: this only tries to load the library.
    if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        return Err("there is no NVRTC: install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc-cu12` and add its folder to LD_LIBRARY_PATH".into());
    }
    compile_ptx(source).map_err(|error| match error {
        CompileError::CompileError { log, .. } => {
            eprintln!("{}", log.to_string_lossy());
            "the kernel does not compile".into()
        }
        error => error.into(),
    })
}

/// Opens the first GPU.
fn device() -> Result<Arc<CudaContext>, Box<dyn Error>> {
    // SAFETY: this only tries to load the library.
    if !unsafe { cudarc::driver::sys::is_culib_present() } {
        return Err("the kernel compiles, but there is no CUDA driver: install NVIDIA's driver on a machine with a GPU".into());
    }
    Ok(CudaContext::new(0)?)
}
// ANCHOR_END: libraries
