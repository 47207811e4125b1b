//! Implements `ladder exact`, which compares the exact sums and dot products of `reduce` with its
//! plain sum of the same bytes, in paired rounds, for many kinds of data. The interpreter measures
//! no times, so there the sums are only verified and their instructions are counted.

mod cell;
mod counted;
mod data;
mod options;

use std::io::Write;

use clap::ValueEnum;
use common::{
    Error,
    cli::Stop,
    device::{Choice, Device, Settings},
};
use half::{bf16, f16};
use measured::{
    exact::{Taken, series},
    file::make_folder,
};

pub use self::options::Options;
use self::{
    data::{Data, Summed},
    options::Kind,
};
use crate::{
    options::progress,
    rig::Rig,
    stop::{file, needs_a_gpu},
};

/// The default sizes on a GPU, and the default sizes in the interpreter.
const SIZES: [&[u64]; 2] = [&[1 << 10, 1 << 20, 1 << 24, 1 << 28], &[1000, 1 << 12]];

/// Measures, prints a table for each type, and writes every sample.
pub fn run(options: &Options) -> Result<(), Stop> {
    let interpreted = options.device == Choice::Simt;
    let sizes: Vec<u64> = match &options.n {
        Some(sizes) => sizes.iter().map(|size| size.0).collect(),
        None => SIZES[usize::from(interpreted)].to_vec(),
    };
    if sizes.contains(&0) {
        let text = "there is nothing to add for zero elements: `--n` must be at least 1 here";
        return Err(Error::Usage(text.into()).into());
    }
    if interpreted {
        return counts(options, &sizes);
    }
    options.out.as_deref().map_or(Ok(()), make_folder).map_err(file)?;
    let rig = Rig::open(options.device, None).map_err(needs_a_gpu("exact"))?;
    let mut mhz = rig.wake()?;
    let mut taken = Vec::new();
    for kind in &options.element {
        let measure = match kind {
            Kind::F32 => typed::<f32>,
            Kind::F64 => typed::<f64>,
            Kind::F16 => typed::<f16>,
            Kind::Bf16 => typed::<bf16>,
        };
        taken.extend(measure(&rig, options, &sizes, &mut mhz)?);
    }
    let mut out = anstream::stdout();
    writeln!(out, "{}\n", rig.device.facts().line)?;
    for series in series(&taken) {
        let (table, slowest) = (series.table(), series.slowest());
        writeln!(
            out,
            "{} on the device: GPU-gated, L2 cold\n\n{table}\n{slowest}",
            series.element
        )?;
    }
    if let Some(folder) = &options.out {
        let path = folder.join("exact.csv.gz");
        Taken::write(&path, &taken).map_err(file)?;
        writeln!(out, "every sample is in {}", path.display())?;
    }
    Ok(())
}

/// Measures all data and sizes of one type.
fn typed<T: Summed>(
    rig: &Rig,
    options: &Options,
    sizes: &[u64],
    mhz: &mut u32,
) -> common::Result<Vec<Taken>> {
    let most = sizes.iter().copied().max().unwrap_or(1);
    let mut taken = Vec::new();
    for data in kinds(options) {
        let input = cell::Input::<T>::draw(rig, data, most, options.seed)?;
        for &n in sizes {
            taken.extend(cell::measure(rig, options, &input, n, mhz)?);
        }
        progress(&format!("{} of {}: {} sizes", data.name(), T::NAME, sizes.len()));
    }
    Ok(taken)
}

/// Verifies and counts in the interpreter.
fn counts(options: &Options, sizes: &[u64]) -> Result<(), Stop> {
    if options.out.is_some() {
        let text = "the interpreter measures no times to write: leave out `--out`, or pass `--device cuda`";
        return Err(Error::Usage(text.into()).into());
    }
    let device = Device::open(Choice::Simt, &Settings::default())?;
    let mut out = anstream::stdout();
    writeln!(out, "{}\n", device.facts().line)?;
    for kind in &options.element {
        let table = match kind {
            Kind::F32 => counted::table::<f32>,
            Kind::F64 => counted::table::<f64>,
            Kind::F16 => counted::table::<f16>,
            Kind::Bf16 => counted::table::<bf16>,
        };
        writeln!(out, "{}", table(&kinds(options), sizes, options.seed)?)?;
    }
    Ok(())
}

/// Returns the requested kinds of data.
fn kinds(options: &Options) -> Vec<Data> {
    if options.data.is_empty() { Data::value_variants().to_vec() } else { options.data.clone() }
}
