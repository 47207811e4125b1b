//! Implements `ladder library`, which measures `reduce` against CUB for every type and operation
//! that `reduce` supports. The sizes are given on the command line or drawn at random. Three times
//! are measured: the time on the device, the wall time, and the time to first result.

mod cell;
mod drawn;
mod first;
mod options;

use std::io::Write;

use common::{Error, cli::Stop};
use half::{bf16, f16};
use measured::{Clock, file::make_folder, library::Taken};

use self::drawn::Drawn;
pub use self::options::{Kind, Options, Wanted};
use crate::{
    options::progress,
    rig::Rig,
    stop::{file, needs_a_gpu},
};

/// Measures, prints a table for each type and operation, and writes every sample.
pub fn run(options: &Options) -> Result<(), Stop> {
    if options.alone {
        return first::alone(options);
    }
    options.out.as_deref().map_or(Ok(()), make_folder).map_err(file)?;
    let rig = Rig::open(options.place.device, options.place.peers.as_deref())
        .map_err(needs_a_gpu("library"))?;
    if options.first {
        return first::run(&rig, options);
    }
    let sizes = match options.drawn {
        0 => options.n.iter().map(|size| size.0).collect(),
        count => drawn::sizes(count, options.seed),
    };
    if sizes.contains(&0) {
        return Err(Error::Usage(
            "there is nothing to time for zero elements: `--n` must be at least 1 here".into(),
        )
        .into());
    }
    let mut mhz = rig.wake()?;
    let mut taken = Vec::new();
    for kind in &options.element {
        let measure = match kind {
            Kind::F32 => typed::<f32>,
            Kind::F64 => typed::<f64>,
            Kind::I32 => typed::<i32>,
            Kind::U32 => typed::<u32>,
            Kind::I64 => typed::<i64>,
            Kind::U64 => typed::<u64>,
            Kind::F16 => typed::<f16>,
            Kind::Bf16 => typed::<bf16>,
        };
        taken.extend(measure(&rig, options, &sizes, &mut mhz)?);
    }
    let mut out = anstream::stdout();
    writeln!(out, "{}\n", rig.device.facts().line)?;
    for (clock, says) in [
        (Clock::Gpu, "on the device: events, GPU-gated, L2 cold"),
        (Clock::Host, "wall time: from the call until the result is on the host"),
    ] {
        for title in measured::library::tables(&taken, clock) {
            writeln!(out, "{}, {says}\n\n{}", title.0, title.1)?;
        }
    }
    match &options.out {
        None => Ok(()),
        Some(folder) => {
            Taken::write(&folder.join("library.csv.gz"), &taken).map_err(file)?;
            writeln!(out, "every sample is in {}", folder.join("library.csv.gz").display())?;
            Ok(())
        }
    }
}

/// Measures all operations and sizes for one type.
fn typed<T: Drawn>(
    rig: &Rig,
    options: &Options,
    sizes: &[u64],
    mhz: &mut u32,
) -> common::Result<Vec<Taken>>
where
    T::Output: bytemuck::Pod,
{
    let most = sizes.iter().copied().max().unwrap_or(1);
    progress(&format!("drawing {most} {}", T::NAME));
    let input = cell::Input::<T>::draw(rig, most, options.seed)?;
    let mut taken = Vec::new();
    for &operation in &options.operation {
        for &n in sizes {
            taken.extend(cell::measure(rig, options, &input, operation.into(), n, mhz)?);
        }
        progress(&format!(
            "{} of {}: {} sizes",
            cell::name(operation.into()),
            T::NAME,
            sizes.len()
        ));
    }
    Ok(taken)
}
