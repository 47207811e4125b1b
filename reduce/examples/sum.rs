//! Computes a sum on the GPU, or on the host if there is no GPU: `cargo run -p samebits --example
//! sum`.

use std::process::ExitCode;

use samebits::{Error, cudarc::driver::CudaStream, host};

fn main() -> ExitCode {
    let values: Vec<f32> = (0..1 << 20).map(|i| (i % 7) as f32 * 0.1).collect();
    let expected = host::sum(&values);
    match samebits::open(0) {
        // Without a GPU, the host computes the same bits.
        Err(reason) => {
            eprintln!("{reason}");
            println!("the sum of {} values is {expected}, on the host", values.len());
            ExitCode::SUCCESS
        }
        Ok(stream) => match on(&stream, &values) {
            Ok((sum, name)) if sum.to_bits() == expected.to_bits() => {
                println!("the sum of {} values is {sum}, on the GPU ({name})", values.len());
                ExitCode::SUCCESS
            }
            Ok((sum, name)) => {
                eprintln!(
                    "the sum on the GPU ({name}) is {sum}, but on the host it is {expected}: please report it"
                );
                ExitCode::FAILURE
            }
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
    }
}

fn on(stream: &std::sync::Arc<CudaStream>, values: &[f32]) -> Result<(f32, String), Error> {
    let driver = |doing| move |source| Error::Driver { doing, source };
    let name = stream.context().name().map_err(driver("reading the device's name"))?;
    let slice = stream.clone_htod(values).map_err(driver("copying to the device"))?;
    Ok((samebits::sum(stream, &slice)?, name))
}
