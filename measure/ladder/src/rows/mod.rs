//! Implements `ladder rows`, which measures the sums of rows, by `reduce` and by CUB, at lengths
//! that are given on the command line or drawn at random.

mod cell;
mod cub;
mod options;
mod sizes;

use std::io::Write;

use common::{Error, cli::Stop};
use measured::{
    file::make_folder,
    rows::{About, Taken, of_cells, table},
};

pub use self::options::Options;
use crate::{
    options::progress,
    rig::Rig,
    stop::{file, needs_a_gpu},
};

/// Measures, prints a table, and writes every sample.
pub fn run(options: &Options) -> Result<(), Stop> {
    options.out.as_deref().map_or(Ok(()), make_folder).map_err(file)?;
    let rig = Rig::open(options.place.device, options.place.peers.as_deref())
        .map_err(needs_a_gpu("rows"))?;
    let cells = sizes::cells(options);
    if cells.is_empty() {
        let text = "no row of `--n` elements fits in `--total` elements: pass a larger `--total` or a smaller `--n`".into();
        return Err(Error::Usage(text).into());
    }
    let peers = cub::Cub::load(options.cub.as_deref());
    if let Err(why) = &peers {
        progress(&format!("without CUB: {why}"));
    }
    let mut mhz = rig.wake()?;
    let most = cells.iter().map(|(rows, elements)| rows * elements).max().unwrap_or(1);
    let input = cell::Input::new(&rig, most, options.seed)?;
    let mut taken = Vec::new();
    for (at, &(rows, elements)) in cells.iter().enumerate() {
        taken.extend(cell::measure(
            &rig,
            options,
            &input,
            peers.as_ref().ok(),
            (rows, elements),
            &mut mhz,
        )?);
        if (at + 1) % 50 == 0 {
            progress(&format!("{} of {} shapes", at + 1, cells.len()));
        }
    }
    let mut out = anstream::stdout();
    writeln!(out, "{}\n", rig.device.facts().line)?;
    writeln!(out, "rows of f32 on the device: GPU-gated, L2 cold\n\n{}", table(&of_cells(&taken)))?;
    if let Some(folder) = &options.out {
        let path = folder.join("rows.csv.gz");
        Taken::write(&path, &taken).map_err(file)?;
        let version = peers.as_ref().map_or("no CUB", |cub| cub.version.as_str());
        let facts = rig.device.facts();
        let about =
            About { gpu: facts.line.clone(), cub: version.into(), bus_bytes_per_second: facts.bus };
        about.write(&folder.join("rows.toml")).map_err(file)?;
        writeln!(out, "every sample is in {}", path.display())?;
    }
    Ok(())
}
