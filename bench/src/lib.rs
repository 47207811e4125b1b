//! `cargo bench -p STEP`, or of a study: criterion, with the times of CUDA events.

use std::time::Duration;

use common::{
    Element, Error, Result, Step,
    device::{Choice, Device, Settings, Stopwatch, ptx},
    run::Job,
    sum::{Input, Workload},
};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};

/// The sizes that are timed.
const SIZES: [u64; 3] = [1 << 20, 1 << 24, 1 << 28];

/// What the interpreter is given.
const SMALL: u64 = 1 << 16;

/// Benches a step on the GPU, or, where there is none, the interpreter on it.
pub fn main(step: &'static Step) {
    ways(&[step]);
}

/// Benches the ways of a study, one after the other: `cargo bench -p row-sum -- NAME` takes those whose
/// names have that in them.
pub fn ways(ways: &[&Step]) {
    let mut criterion = Criterion::default().configure_from_args();
    let benched = open().and_then(|device| {
        if device.gpu().is_err() {
            eprintln!(
                "no GPU is benched here, but the interpreter: its own speed, on {SMALL} elements"
            );
        }
        ways.iter().try_for_each(|way| match device {
            Device::Cuda(_) => bench(way, &device, &mut criterion),
            Device::Simt(_) => interpret(way, &device, &mut criterion),
        })
    });
    if let Err(error) = benched {
        eprintln!("error: {error}");
        std::process::exit(i32::from(error.exit_code()));
    }
    criterion.final_summary();
}

/// The device of `REDUCE_DEVICE`: the GPU if there is one where it says nothing.
fn open() -> Result<Device> {
    let choice = match std::env::var("REDUCE_DEVICE") {
        Ok(text) => {
            text.parse().map_err(|error| Error::Usage(format!("REDUCE_DEVICE: {error}")))?
        }
        Err(_) => Choice::Auto,
    };
    Device::open(choice, &Settings { checks: Some(Vec::new()), ..Settings::default() })
}

/// The interpreter's own speed, by the host's clock: it says nothing of a GPU's.
fn interpret(step: &Step, device: &Device, criterion: &mut Criterion) -> Result<()> {
    let (block, element) = (step.block(None), Element::F32);
    let ptx = ptx::of(&step.kernel, element, None)?;
    let workload = Workload::<f32>::new(device, Input::Uniform, SMALL, 42)?;
    let job = Job::load(device, step, &ptx, device.problem(SMALL, block, element))?;
    job.verify(&workload)?.right()?;
    let calls = job.calls(workload.warm())?;
    let name = BenchmarkId::new("interpreter", numbers::size(SMALL));
    let mut group = criterion.benchmark_group(step.name);
    group.sample_size(10).bench_function(name, |bencher| {
        bencher.iter(|| job.launch(&calls).expect("a verified run runs again"));
    });
    group.finish();
    Ok(())
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
                    let timed = calls.and_then(|calls| stopwatch.time(|| job.launch(&calls)));
                    match timed {
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
