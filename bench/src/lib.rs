//! Benchmarks for a step or a study, run by `cargo bench -p NAME`. The benchmarks use criterion,
//! which receives times that CUDA events measured.

use std::time::Duration;

use common::{
    Element, Error, Result, Step,
    device::{Choice, Device, Settings, Stopwatch, ptx},
    run::Job,
    sum::{Input, Workload},
};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};

/// The input sizes that are timed, in elements.
const SIZES: [u64; 3] = [1 << 20, 1 << 24, 1 << 28];

/// The number of elements that the interpreter adds.
const SMALL: u64 = 1 << 16;

/// Benchmarks a step on the GPU. Without a GPU, the function measures the interpreter's own speed.
pub fn main(step: &'static Step) {
    ways(&[step]);
}

/// Benchmarks the steps in a study. `cargo bench -p row-sum -- NAME` runs the benchmarks whose
/// names contain NAME.
pub fn ways(ways: &[&Step]) {
    let mut criterion = Criterion::default().configure_from_args();
    let benched = open().and_then(|device| {
        if device.gpu().is_err() {
            eprintln!(
                "there is no GPU here: the benchmark measures the interpreter's own speed, on {SMALL} elements"
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

/// Opens the device that `REDUCE_DEVICE` names. If the variable is not set, opens the GPU if there
/// is one.
fn open() -> Result<Device> {
    let choice = match std::env::var("REDUCE_DEVICE") {
        Ok(text) => {
            text.parse().map_err(|error| Error::Usage(format!("REDUCE_DEVICE: {error}")))?
        }
        Err(_) => Choice::Auto,
    };
    Device::open(choice, &Settings { checks: Some(Vec::new()), ..Settings::default() })
}

/// Measures the interpreter's own speed, in wall time. This speed is unrelated to that of a GPU.
fn interpret(step: &Step, device: &Device, criterion: &mut Criterion) -> Result<()> {
    let (block, element) = (step.block(None), Element::F32);
    let ptx = ptx::of(&step.kernel, element, None)?;
    let workload = Workload::<f32>::new(device, Input::Uniform, SMALL, 42)?;
    let job = Job::load(device, step, &ptx, device.problem(SMALL, block, element))?;
    job.verify(&workload)?.into_verified()?;
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
    // The benchmark group has the step's name, because all steps share one folder for results.
    let mut group = criterion.benchmark_group(step.name);
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(50)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    for n in SIZES {
        let workload = Workload::<f32>::new(device, Input::Uniform, n, 42)?;
        let job = Job::load(device, step, &ptx, device.problem(n, block, element))?;
        job.verify(&workload)?.into_verified()?;
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
                            // The time must not be zero, because criterion divides by it.
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
        job.verify_last(&workload)?.into_verified()?;
    }
    group.finish();
    Ok(())
}
