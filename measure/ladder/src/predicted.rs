//! Predicts the ratio of two kernels, for machines without a GPU.

use std::io::Write;

use common::{
    Error, Result, Step,
    cli::Stop,
    device::Settings,
    plan::Problem,
    ptx,
    run::{self, Prediction},
};
use numbers::size;
use predict::{Gpu, SMALL};

use crate::options::How;

/// Prints the predicted speedup of the second kernel over the first, with its range.
pub(crate) fn pair(
    name: &str,
    (first, second): (&'static Step, &'static Step),
    sizes: &[u64],
    how: &How,
) -> Result<(), Stop> {
    let gpu = Gpu::named(name).map_err(|error| Error::Usage(error.to_string()))?;
    let mut out = anstream::stdout();
    writeln!(out, "{}, predicted from {}, not measured", gpu.name, gpu.source)?;
    for &element in &how.element {
        for &n in sizes {
            let time = |step: &'static Step| -> Result<Prediction> {
                let text = ptx::of(&step.kernel, element, None)?;
                let block = step.block(Some(how.threads));
                let chip = run::chip(&gpu);
                let problem = Problem { n, block, element, chip };
                run::predicted(step, &text, &gpu, problem, &Settings::default())
            };
            let (slow, fast) = (time(first)?, time(second)?);
            let [least, most] = ratio(&gpu, n, slow.us, fast.us);
            writeln!(
                out,
                "{:>6} {element}: {} against {}: {:.2} against {:.2} µs, {:.3} times as fast ({least:.3} to {most:.3})",
                size(n),
                second.name,
                first.name,
                fast.us,
                slow.us,
                slow.us / fast.us,
            )?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Returns the range that contains nine in ten of the ratios of two kernels.
fn ratio(gpu: &Gpu, n: u64, slow: f64, fast: f64) -> [f64; 2] {
    let error = if n <= SMALL { gpu.errors[0] / fast.min(slow) } else { gpu.errors[2] };
    [slow / fast * (1.0 - error), slow / fast * (1.0 + error)]
}
