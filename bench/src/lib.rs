//! `cargo bench -p STEP`: criterion, with the times of CUDA events.

use std::time::Duration;

use common::{
    Element, Result, Step,
    device::{Cuda, Device, Stopwatch, ptx},
    run::Job,
    sum::{Input, Workload},
};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};

/// The sizes that are timed.
const SIZES: [u64; 3] = [1 << 20, 1 << 24, 1 << 28];

/// Benches a step on the first GPU. Without one: a line on standard error, and success.
pub fn main(step: &'static Step) {
    let device = match Cuda::open(0) {
        Ok(cuda) => Device::Cuda(cuda),
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let mut criterion = Criterion::default().configure_from_args();
    if let Err(error) = bench(step, &device, &mut criterion) {
        eprintln!("error: {error}");
        std::process::exit(i32::from(error.exit_code()));
    }
    criterion.final_summary();
}

fn bench(step: &Step, device: &Device, criterion: &mut Criterion) -> Result<()> {
    let (block, element) = (step.block(None), Element::F32);
    let ptx = ptx::of(&step.kernel, element, None)?;
    // The group carries the step's name: all steps share one folder of results.
    let mut group = criterion.benchmark_group(step.name);
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(50)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    for n in SIZES {
        let workload = Workload::<f32>::new(device, Input::Uniform, n, 42)?;
        let job = Job::load(device, step, &ptx, device.problem(n, block, element))?;
        job.verify(&workload)?.right()?;
        let mut stopwatch = Stopwatch::gated(device.gpu()?)?;
        let mut failure = None;
        group.throughput(Throughput::BytesDecimal(n * element.size()));
        group.bench_function(BenchmarkId::from_parameter(numbers::size(n)), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut seconds = 0.0;
                for _ in 0..iterations {
                    let calls = job.calls(workload.cold());
                    match stopwatch.time(|| job.launch(&calls)) {
                        Ok(time) => seconds += time,
                        Err(error) => {
                            failure = Some(error);
                            // criterion divides by the time: it must not be zero.
                            seconds += 1.0;
                        }
                    }
                }
                Duration::from_secs_f64(seconds)
            });
        });
        if let Some(error) = failure {
            return Err(error);
        }
        job.verify_last(&workload)?.right()?;
    }
    group.finish();
    Ok(())
}
