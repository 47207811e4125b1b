//! A sum on the GPU, or on the host where there is none: `cargo run -p reduce --example sum`.

use std::process::ExitCode;

use reduce::{Error, host};

fn main() -> ExitCode {
    let values: Vec<f32> = (0..1 << 20).map(|i| (i % 7) as f32 * 0.1).collect();
    let expected = host::sum(&values);
    match reduce::open(0) {
        // The host is no worse an answer: it has the same bits.
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
                eprintln!("the GPU ({name}) has {sum}, and the host {expected}: please report it");
                ExitCode::FAILURE
            }
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
    }
}

fn on(
    stream: &std::sync::Arc<cudarc::driver::CudaStream>,
    values: &[f32],
) -> Result<(f32, String), Error> {
    let driver = |doing| move |source| Error::Driver { doing, source };
    let name = stream.context().name().map_err(driver("asking for the device's name"))?;
    let slice = stream.clone_htod(values).map_err(driver("copying to the device"))?;
    Ok((reduce::sum(stream, &slice)?, name))
}
