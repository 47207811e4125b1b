//! Implements `ladder counters`, which reads hardware counters through ncu, or through CUPTI in
//! this process.

use std::{io::Write, path::PathBuf};

use clap::{Args, ValueEnum};
use common::{
    Element, Error, Result, Step,
    cli::{self, Stop},
    device::{
        Choice, Device, Settings,
        cupti::counters::{METRICS as COUNTED, Session, Values},
    },
    plan::{Block, Size, Sizes},
    ptx,
    run::{self, Job},
    sum::{Scalar, Value, Workload},
};
use measured::{
    counters::{Count, MARK, Twice, from_ncu},
    file::make_folder_of,
};

use crate::{
    STUDIES,
    cell::{INPUT, SEED},
    names::find,
    steps_and_ways,
    stop::{file, needs_a_gpu},
};

/// The metrics, under the names that `ncu --query-metrics` lists on Hopper.
///
/// The metrics are in this order: branches, instructions and lanes, shared memory, global memory,
/// DRAM. For each stall reason, a metric gives the average number of warps that stall for this
/// reason in a cycle that issues an instruction. The last metric is counted for each opcode, so it
/// includes barriers (BAR) and shuffles (SHFL).
pub const METRICS: [&str; 29] = [
    "smsp__sass_branch_targets_threads_divergent.sum",
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "dram__bytes_read.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "gpu__time_duration.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_branch_resolve_per_issue_active.ratio",
    "sass__inst_executed_per_opcode",
];

/// The options of `ladder counters`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The counting tool: ncu, whose commands are printed, or cupti, which counts in this process
    #[arg(long, value_enum, value_name = "WHO", default_value = "ncu")]
    pub from: From,

    /// Convert these files, the output of the printed commands, into counters.csv
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "out")]
    pub read: Vec<PathBuf>,

    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Count only these steps, kernels of studies and variants, given by their full names, or only
    /// these studies, such as row-sum
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,

    /// With `--read COUNTERS.CSV`, write the interpreter's counts beside the GPU's, for the metrics
    /// that both have
    #[arg(long, requires = "read", conflicts_with = "from")]
    pub twice: bool,

    /// The problems to count
    #[command(flatten)]
    pub problems: Problems,

    /// The device on which CUPTI counts: auto, cuda, cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    pub device: Choice,
}

/// The counting tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum From {
    /// NVIDIA's Nsight Compute.
    Ncu,
    /// NVIDIA's CUPTI library, called in this process.
    Cupti,
}

/// The problems; a step runs once on each of them.
#[derive(Args, Clone, Debug)]
pub struct Problems {
    /// The number of elements, or a list
    #[arg(long, value_name = "N", default_value = "2^22", allow_hyphen_values = true)]
    pub n: Sizes,

    /// The type of an element, or a list
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', default_value = "f32")]
    pub element: Vec<Element>,

    /// The number of threads per block, or a list
    #[arg(long, value_name = "THREADS", value_delimiter = ',', default_value = "256")]
    pub threads: Vec<Block>,
}

/// The options of `ladder once`: a step, and the problems; the step runs once on each problem.
#[derive(Args, Clone, Debug)]
pub struct Once {
    /// The step; the beginning of its name is enough, such as v2
    pub step: String,

    /// The problems
    #[command(flatten)]
    pub problems: Problems,

    /// Where to run: auto, cuda, cuda:1, simt
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    pub device: Choice,
}

/// Prints the commands, or reads their output.
pub fn run(options: &Options) -> Result<(), Stop> {
    options.out.as_deref().map_or(Ok(()), make_folder_of).map_err(file)?;
    if options.from == From::Cupti {
        return from_cupti(options);
    }
    let mut out = anstream::stdout();
    let Some(path) = options.out.as_ref().filter(|_| !options.read.is_empty()) else {
        for step in asked(&options.only)? {
            writeln!(out, "{}", command(step.name, options))?;
        }
        return Ok(());
    };
    if options.twice {
        let mut twice = Vec::new();
        for source in &options.read {
            let mut counts = Count::read(source).map_err(file)?;
            let asked = asked(&options.only)?;
            counts.retain(|count| asked.iter().any(|step| step.name == count.variant));
            twice.extend(beside(&counts)?);
        }
        Twice::write(path, &twice).map_err(file)?;
        let unlike = twice.iter().filter(|count| !count.equal()).count();
        writeln!(
            out,
            "pairs of counts written to {1}: {0}; pairs that differ: {unlike}",
            twice.len(),
            path.display()
        )?;
        return Ok(());
    }
    let mut counts: Vec<Count> = Vec::new();
    for source in &options.read {
        let name = source.display().to_string();
        let bytes = measured::file::read(source).map_err(file)?;
        counts.extend(from_ncu(&String::from_utf8_lossy(&bytes), &name).map_err(file)?);
    }
    Count::write(path, &counts).map_err(file)?;
    writeln!(
        out,
        "wrote {} counts from {} files to {}",
        counts.len(),
        options.read.len(),
        path.display()
    )?;
    Ok(())
}

/// Returns the ncu command for one step. The command does not lock the clocks, because counts do
/// not depend on clock rates.
fn command(step: &str, options: &Options) -> String {
    let Problems { n, element, threads } = &options.problems;
    let (n, element) = (list(n.iter().map(|n| n.0)), list(element));
    let threads = list(threads.iter().map(|block| block.threads()));
    format!(
        "ncu --csv --print-units base --clock-control none --print-metric-instances details --metrics {} ladder once {step} --device cuda --n {n} --type {element} --threads {threads} > {}.ncu",
        METRICS.join(","),
        step.replace('/', "-")
    )
}

fn list(items: impl IntoIterator<Item = impl ToString>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

/// Counts every step in this process, and writes the metrics that both ncu and CUPTI have.
fn from_cupti(options: &Options) -> Result<(), Stop> {
    let (Some(path), []) = (&options.out, &options.read[..]) else {
        let text = "`--from cupti` counts in this process: it needs `--out FILE` and does not accept `--read`";
        return Err(Error::Usage(text.into()).into());
    };
    let device = Device::open(options.device, &Settings::default())?;
    let session = Session::open(device.gpu().map_err(needs_a_gpu("counters --from cupti"))?)?;
    let (mut out, mut counts) = (anstream::stdout(), Vec::new());
    for step in asked(&options.only)? {
        each(step, &options.problems, |step, element, n, block| {
            let ptx = ptx::of(&step.kernel, element, None)?;
            let job = Job::load(&device, step, &ptx, device.problem(n, block, element))?;
            let counted = match element {
                Element::F32 => counted::<f32>(&session, &device, &job, n),
                Element::I32 => counted::<i32>(&session, &device, &job, n),
                Element::F64 => counted::<f64>(&session, &device, &job, n),
            }?;
            let launches = job.plan().launches.iter().zip(counted);
            counts.extend(launches.enumerate().flat_map(|(index, (launch, values))| {
                COUNTED.iter().zip(values).map(move |(metric, value)| Count {
                    variant: step.name.to_owned(),
                    element: element.to_string(),
                    threads: block.threads(),
                    n,
                    launch: index as u32 + 1,
                    kernel: launch.entry.clone(),
                    grid: u64::from(launch.grid),
                    metric: (*metric).to_owned(),
                    value,
                })
            }));
            Ok(())
        })?;
        writeln!(out, "{} counted", step.name)?;
    }
    Count::write(path, &counts).map_err(file)?;
    let by = format!("CUPTI {}, in {} passes", session.version(), session.passes);
    writeln!(out, "wrote {} counts to {}, by {by}", counts.len(), path.display())?;
    Ok(())
}

/// Returns the selected steps, or all steps if none is named. The name of a study selects its
/// kernels and their variants.
fn asked(only: &[String]) -> Result<Vec<&'static Step>> {
    let mut asked = Vec::new();
    for name in only {
        let named: Vec<&Step> = match STUDIES.into_iter().find(|study| study.name == name) {
            Some(study) => {
                study.ways.iter().flat_map(|way| [*way].into_iter().chain(way.variants)).collect()
            }
            None => steps_and_ways().filter(|step| step.name == name).collect(),
        };
        if named.is_empty() {
            return Err(Error::Usage(format!("`{name}` is neither a step nor a study")));
        }
        asked.extend(named);
    }
    Ok(if only.is_empty() { steps_and_ways().collect() } else { asked })
}

/// Returns the interpreter's counts for the same launches, for the metrics that have the same
/// definition on both devices.
fn beside(hardware: &[Count]) -> Result<Vec<Twice>> {
    let mut twice = Vec::new();
    for counts in hardware.chunk_by(|a, b| {
        (&a.variant, &a.element, a.threads, a.n) == (&b.variant, &b.element, b.threads, b.n)
    }) {
        let Count { variant, element, threads, n, .. } = &counts[0];
        let step = steps_and_ways().find(|step| step.name == variant).ok_or_else(|| {
            Error::Usage(format!(
                "the file has counts for `{variant}`, which is not a step: count again"
            ))
        })?;
        let element: Element = element.parse().map_err(Error::Usage)?;
        let device = Device::open(
            Choice::Simt,
            &Settings { checks: Some(Vec::new()), ..Settings::default() },
        )?;
        let block = Block::new(*threads)?;
        let ptx = ptx::of(&step.kernel, element, None)?;
        let job = Job::load(&device, step, &ptx, device.problem(*n, block, element))?;
        let Device::Simt(simt) = &device else { return Err(Error::NoGpu) };
        simt.watch(*n);
        match element {
            Element::F32 => verified::<f32>(&device, &job, *n),
            Element::I32 => verified::<i32>(&device, &job, *n),
            Element::F64 => verified::<f64>(&device, &job, *n),
        }?;
        let launches = simt.observed().counters.launches;
        for count in counts {
            let Some(at) =
                COUNTED.iter().zip(run::SAME).position(|(name, _)| *name == count.metric)
            else {
                continue;
            };
            let launch = launches.get(count.launch as usize - 1);
            let Some(ours) = launch.map(|launch| run::SAME[at](&launch.counts)) else {
                return Err(Error::Usage(format!("{variant} has no launch {}", count.launch)));
            };
            twice.push(Twice {
                variant: variant.clone(),
                element: element.to_string(),
                threads: *threads,
                n: *n,
                launch: count.launch,
                metric: count.metric.clone(),
                interpreter: ours,
                hardware: count.value,
            });
        }
    }
    Ok(twice)
}

/// Returns the GPU's counts for a job's launches. The sum is verified first.
fn counted<T: Scalar>(
    session: &Session<'_>,
    device: &Device,
    job: &Job<'_>,
    n: u64,
) -> Result<Vec<Values>> {
    let workload = Workload::<T>::new(device, INPUT, n, SEED)?;
    job.verify(&workload)?.into_verified()?;
    run::by_hardware(session, device, job, &workload)
}

/// Runs a step once on each problem, and verifies its sums.
pub fn once(options: &Once) -> Result<(), Stop> {
    let names: Vec<String> = steps_and_ways().map(|step| step.name.to_owned()).collect();
    let name = find(&names, &options.step)?;
    let mut steps = steps_and_ways();
    let step = steps.find(|step| step.name == name).expect("every name is that of a step");
    let device = Device::open(options.device, &Settings::default())?;
    let mut out = anstream::stdout();
    each(step, &options.problems, |step, element, n, block| {
        cli::forewarn(&device, n, element, 1);
        let ptx = ptx::of(&step.kernel, element, None)?;
        let job = Job::load(&device, step, &ptx, device.problem(n, block, element))?;
        let launches = job.plan().launches.len();
        writeln!(out, "{MARK} {} {element} {n} {} {launches}", step.name, block.threads())?;
        let sum = match element {
            Element::F32 => verified::<f32>(&device, &job, n),
            Element::I32 => verified::<i32>(&device, &job, n),
            Element::F64 => verified::<f64>(&device, &job, n),
        }?;
        writeln!(out, "sum {sum} verified")?;
        Ok(())
    })
}

/// Calls a function with a step, once for each combination of a problem and one of the step's block
/// sizes.
fn each(
    step: &'static Step,
    problems: &Problems,
    mut work: impl FnMut(&'static Step, Element, u64, Block) -> Result<(), Stop>,
) -> Result<(), Stop> {
    for &element in &problems.element {
        for &Size(n) in problems.n.iter() {
            for block in step.distinct_blocks(&problems.threads) {
                work(step, element, n, block)?;
            }
        }
    }
    Ok(())
}

fn verified<T: Scalar>(device: &Device, job: &Job<'_>, n: u64) -> Result<Value> {
    let workload = Workload::<T>::new(device, INPUT, n, SEED)?;
    Ok(job.verify_once(&workload)?.into_verified()?.sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a count in the form in which a GPU would report it.
    fn count(variant: &str, threads: u32, launch: u32, metric: &str, value: f64) -> Count {
        Count {
            variant: variant.into(),
            element: "i32".into(),
            threads,
            n: 1025,
            launch,
            kernel: "reduce".into(),
            grid: 1,
            metric: metric.into(),
            value,
        }
    }

    #[test]
    fn the_interpreter_counts_the_same_launches_beside_the_gpu() {
        let stores = COUNTED[1];
        let hardware = [
            count("v0-naive", 64, 1, stores, 7.0),
            count("v0-naive", 64, 1, "dram__bytes_read.sum", 1.0),
            count("v0-naive", 64, 2, stores, 9.0),
            count("v1-divergence", 128, 1, stores, 7.0),
        ];
        let twice = beside(&hardware).unwrap();
        let told: Vec<(&str, u32, u32, f64)> =
            twice.iter().map(|t| (t.variant.as_str(), t.threads, t.launch, t.hardware)).collect();
        assert_eq!(
            told,
            [("v0-naive", 64, 1, 7.0), ("v0-naive", 64, 2, 9.0), ("v1-divergence", 128, 1, 7.0)]
        );
        assert!(twice.iter().all(|t| t.metric == stores && t.n == 1025 && t.interpreter > 0));
        // The first launch has seventeen blocks, and the second launch has one.
        assert!(twice[0].interpreter > 8 * twice[1].interpreter, "{twice:?}");
        for (wrong, why) in [
            (
                count("v99", 64, 1, stores, 1.0),
                "the file has counts for `v99`, which is not a step",
            ),
            (count("v0-naive", 64, 9, stores, 1.0), "v0-naive has no launch 9"),
        ] {
            let said = beside(&[wrong]).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn only_selected_steps_are_counted() {
        let names = |only: &[&str]| -> Vec<&str> {
            let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
            asked(&only).unwrap().iter().map(|step| step.name).collect()
        };
        assert_eq!(names(&["v1-divergence", "v0-naive"]), ["v1-divergence", "v0-naive"]);
        let study = STUDIES.into_iter().find(|study| study.name == "small-sum").unwrap();
        let ways = names(&["small-sum"]);
        assert!(study.ways.iter().all(|way| ways.contains(&way.name)), "{ways:?}");
        assert!(!ways.contains(&"v0-naive") && ways.len() < names(&[]).len());
        assert!(asked(&["nothing".into()]).is_err());
    }

    #[test]
    fn the_command_can_be_pasted() {
        let options = Options {
            read: vec![],
            out: None,
            only: vec![],
            twice: false,
            from: From::Ncu,
            device: Choice::Auto,
            problems: Problems {
                n: "2^22,1000".parse().unwrap(),
                element: vec![Element::F32],
                threads: vec![Block::new(256).unwrap()],
            },
        };
        let text = command("v0-naive", &options);
        assert!(text.starts_with("ncu --csv ") && text.contains("--clock-control none"), "{text}");
        assert!(text.ends_with(
            "ladder once v0-naive --device cuda --n 4194304,1000 --type f32 --threads 256 > v0-naive.ncu"
        ), "{text}");
    }
}
