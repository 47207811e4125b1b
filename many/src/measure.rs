//! Measures sums on all GPUs of a process, with GPU-gated and paired runs. In each round, all
//! competitors run in order and then in reverse order.
//!
//! In GPU-gated runs, every result stays on the GPUs, as in an asynchronous sum on a single GPU.
//! The wall time until the host has the result is measured separately.

use std::{cell::RefCell, sync::Arc, time::Instant};

use cudarc::driver::{CudaSlice, CudaStream};
use reduce::{Operation, Reducer};

use crate::{
    Data, Error, Group, Layout, Local, LocalPlan, Options, Plan, Result, Slice,
    cuda::{self, Where},
    error::doing,
    gate::Gate,
    nccl::Nccl,
};

/// A measured time.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The total number of elements.
    pub n: u64,
    /// The competitor's name.
    pub competitor: &'static str,
    /// The timer: `gated`, `caller` (wall time), or `queued` (the mean time of calls that are
    /// queued without waiting for each other's results).
    pub clock: &'static str,
    /// The round, numbered from 0.
    pub round: u32,
    /// The GPU, if the timer is `gated`; otherwise 0.
    pub gpu: u32,
    /// The time in microseconds.
    pub micros: f64,
}

/// The number of consecutive calls over which one `queued` time is averaged.
const QUEUED: u32 = 50;

/// The length of the sum with which the GPUs synchronize. This length is the smallest at which
/// partial sums are exchanged.
const MEETING: u64 = 1 << 16;

/// The number of bytes that are read between two reads of the same copy of an input. This number
/// exceeds the size of every L2 cache.
const ROTATED: u64 = 512 << 20;

/// The GPUs and their gate.
pub struct Bench {
    streams: Vec<Arc<CudaStream>>,
    gate: Gate,
    local: Local,
    group: Option<Group>,
}

/// The copies of a GPU's input, which are read in rotation.
struct Input {
    all: CudaSlice<f32>,
    length: usize,
    apart: usize,
    copies: usize,
}

impl Input {
    fn new(stream: &Arc<CudaStream>, range: std::ops::Range<u64>) -> Result<Input> {
        let length = (range.end - range.start) as usize;
        let apart = length.next_multiple_of(1024).max(1024);
        let copies = (ROTATED as usize / 4 / apart).clamp(1, 64);
        let once = Data::on::<f32>(stream, range)?;
        if copies == 1 {
            return Ok(Input { all: once, length, apart, copies });
        }
        let copying = || doing("copying the input");
        let mut all = stream.alloc_zeros::<f32>(apart * copies).map_err(copying())?;
        for copy in 0..copies {
            let mut view = all.slice_mut(copy * apart..copy * apart + length);
            if length > 0 {
                stream.memcpy_dtod(&once, &mut view).map_err(copying())?;
            }
        }
        stream.synchronize().map_err(copying())?;
        Ok(Input { all, length, apart, copies })
    }

    fn at(&self, call: usize) -> cudarc::driver::CudaView<'_, f32> {
        let from = call % self.copies * self.apart;
        self.all.slice(from..from + self.length)
    }
}

impl Bench {
    /// Opens the first `gpus` GPUs of this machine, and uses NCCL if it is given.
    pub fn new(gpus: usize, nccl: Option<&Nccl>, options: &Options) -> Result<Bench> {
        let streams = (0..gpus).map(reduce::open).collect::<Result<Vec<_>, _>>()?;
        let gate = Gate::new(&streams)?;
        let local = Local::new(&streams, options.timeout)?;
        let group = nccl.map(|nccl| Group::local(&streams, nccl, options)).transpose()?;
        Ok(Bench { streams, gate, local, group })
    }

    /// Measures all times at one length, and compares the bits of the results with those on one
    /// GPU.
    pub fn at(&self, n: u64, rounds: u32, sample: &mut dyn FnMut(Sample)) -> Result<()> {
        let sums = Sums::new(self, n)?;
        let competitors = sums.competitors();
        let expected = sums.reducers[0].sum(&sums.alone.at(0))?.to_bits();
        let mut rounds = Rounds { bench: self, n, rounds, expected, calls: 0, sample };
        rounds.warm_up(&competitors)?;
        rounds.gated(&competitors, &|| sums.synchronize())?;
        let told = |competitor: &&Competitor<'_>| competitor.name != "told";
        let competitors: Vec<_> = competitors.iter().filter(told).collect();
        let alone = |call| Ok(sums.reducers[0].sum(&sums.alone.at(call)).map(drop)?);
        rounds.called(&competitors, &alone)?;
        rounds.queued(&competitors)
    }
}

/// The inputs of one length, and the plans for all sums of these inputs.
struct Sums<'b> {
    bench: &'b Bench,
    /// The shard of each GPU.
    inputs: Vec<Input>,
    /// All elements on the first GPU.
    alone: Input,
    reducers: Vec<Reducer<f32>>,
    outputs: RefCell<Vec<CudaSlice<f32>>>,
    kernel: LocalPlan<'b, f32>,
    gather: Option<Plan<'b, f32>>,
    reduce: Option<Plan<'b, f32>>,
    /// The sum with which the GPUs synchronize, and its inputs.
    meeting: LocalPlan<'b, f32>,
    met: Vec<CudaSlice<f32>>,
}

impl<'b> Sums<'b> {
    fn new(bench: &'b Bench, n: u64) -> Result<Sums<'b>> {
        let ranks = || (0..).zip(&bench.streams);
        let layout = Layout::even::<f32>(n, bench.streams.len() as u32)?;
        let inputs = ranks()
            .map(|(rank, stream)| Input::new(stream, layout.elements(rank)))
            .collect::<Result<Vec<_>>>()?;
        let reducers =
            bench.streams.iter().map(Reducer::<f32>::new).collect::<Result<Vec<_>, _>>()?;
        let output =
            |stream: &Arc<CudaStream>| stream.alloc_zeros(4).map_err(doing("allocating a result"));
        let outputs = bench.streams.iter().map(output).collect::<Result<Vec<_>>>()?;
        let lengths: Vec<u64> = inputs.iter().map(|input| input.length as u64).collect();
        let plan = |reduce| match &bench.group {
            Some(group) => group.plan_by::<f32>(Operation::Sum, &lengths, reduce).map(Some),
            None => Ok(None),
        };
        let meeting = bench.local.plan::<f32>(MEETING, Operation::Sum)?;
        let met = ranks()
            .map(|(rank, stream)| Data::on::<f32>(stream, meeting.layout().elements(rank)))
            .collect::<Result<Vec<_>>>()?;
        Ok(Sums {
            bench,
            alone: Input::new(&bench.streams[0], 0..n)?,
            kernel: bench.local.plan::<f32>(n, Operation::Sum)?,
            gather: plan(false)?,
            reduce: plan(true)?,
            outputs: RefCell::new(outputs),
            inputs,
            reducers,
            meeting,
            met,
        })
    }

    /// Queues a sum to which every GPU contributes, so that all GPUs finish it at about the same
    /// time.
    fn synchronize(&self) -> Result<()> {
        let met: Vec<&dyn Slice<f32>> = self.met.iter().map(|slice| slice as _).collect();
        self.meeting.queue(&met).map(drop)
    }

    /// Queues one GPU's sum of all elements.
    fn one(&self, call: usize) -> Result<u32> {
        self.reducers[0].sum_into(&self.alone.at(call), &mut self.outputs.borrow_mut()[0])?;
        Ok(0)
    }

    /// Queues each GPU's sum of its own shard.
    fn shares(&self, call: usize) -> Result<u32> {
        for (rank, reducer) in self.reducers.iter().enumerate() {
            reducer.sum_into(&self.inputs[rank].at(call), &mut self.outputs.borrow_mut()[rank])?;
        }
        Ok(0)
    }

    /// Calls `queue` with the copies of the shards that this call reads.
    fn with(
        &self,
        call: usize,
        queue: impl FnOnce(&[&dyn Slice<f32>]) -> Result<u32>,
    ) -> Result<u32> {
        let views: Vec<_> = self.inputs.iter().map(|input| input.at(call)).collect();
        let slices: Vec<&dyn Slice<f32>> = views.iter().map(|view| view as _).collect();
        queue(&slices)
    }

    fn in_kernel(&self, call: usize, place: Where) -> Result<u32> {
        self.with(call, |slices| self.kernel.queue_to(slices, place))
    }

    /// Returns all competitors, in the order in which a round runs them.
    fn competitors(&self) -> Vec<Competitor<'_>> {
        let bits = |sum: Result<f32>| sum.map(f32::to_bits);
        let mut competitors = vec![
            Competitor::without_bits("one", move |call, _| self.one(call)),
            Competitor::without_bits("share", move |call, _| self.shares(call)),
            Competitor {
                name: "kernel",
                queue: Box::new(move |call, place| self.in_kernel(call, place)),
                wait: Some(Box::new(move |call, place| match place {
                    Where::Host => bits(self.kernel.wait(call)),
                    Where::Device => bits(self.kernel.left(call)),
                })),
            },
            // This competitor computes the same sum, but writes its result to host memory. The
            // difference in time is the cost of this write.
            Competitor {
                name: "told",
                queue: Box::new(move |call, _| self.in_kernel(call, Where::Host)),
                wait: Some(Box::new(move |call, _| bits(self.kernel.wait(call)))),
            },
        ];
        for (name, plan) in [("gather", &self.gather), ("reduce", &self.reduce)] {
            let Some(plan) = plan else { continue };
            competitors.push(Competitor {
                name,
                queue: Box::new(move |call, place| {
                    self.with(call, |slices| plan.queue_to(slices, place))
                }),
                wait: Some(Box::new(move |call, place| match place {
                    Where::Host => bits(plan.wait(call)),
                    Where::Device => bits(plan.left(call)),
                })),
            });
        }
        if let (Some(group), Some(plan)) = (&self.bench.group, &self.gather) {
            // Each GPU sums its chunks, without an exchange.
            competitors.push(Competitor::without_bits("parts", move |call, _| {
                self.with(call, |slices| plan.queue_local(slices).map(|()| 0))
            }));
            // In the usual method, each GPU adds its own elements, and an all-reduce adds the
            // totals. The bits of its result differ.
            competitors.push(Competitor::without_bits("totals", move |call, _| {
                self.shares(call)?;
                group.add_totals(&mut self.outputs.borrow_mut())?;
                Ok(0)
            }));
        }
        competitors
    }
}

/// The rounds at one length.
struct Rounds<'r> {
    bench: &'r Bench,
    n: u64,
    rounds: u32,
    /// The bits of the sum on one GPU.
    expected: u32,
    /// The number of calls so far, which selects the copy of the input for the next call.
    calls: usize,
    sample: &'r mut dyn FnMut(Sample),
}

impl Rounds<'_> {
    /// Returns the number of the next call.
    fn next(&mut self) -> usize {
        self.calls += 1;
        self.calls
    }

    fn keep(
        &mut self,
        competitor: &'static str,
        clock: &'static str,
        round: u32,
        gpu: u32,
        micros: f64,
    ) {
        (self.sample)(Sample { n: self.n, competitor, clock, round, gpu, micros });
    }

    /// Waits for all GPUs, and compares the bits of a call's result with the expected bits.
    fn finish(&self, competitor: &Competitor<'_>, call: u32, place: Where) -> Result<()> {
        for stream in &self.bench.streams {
            cuda::bind(stream)?;
            stream.synchronize().map_err(doing("waiting for all GPUs"))?;
        }
        let Some(wait) = &competitor.wait else { return Ok(()) };
        match wait(call, place)? {
            bits if bits == self.expected => Ok(()),
            bits => Err(Error::Bits(format!(
                "the result of {} has the bits {bits:#x} for n = {}, but the result of one GPU has {:#x}: please report this error",
                competitor.name, self.n, self.expected
            ))),
        }
    }

    /// Runs every competitor three times, so that no time includes compiling, allocating or
    /// connecting.
    fn warm_up(&self, competitors: &[Competitor<'_>]) -> Result<()> {
        for competitor in competitors {
            for (call, place) in (0..).zip([Where::Host, Where::Device, Where::Host]) {
                let number = (competitor.queue)(call, place)?;
                self.finish(competitor, number, place)?;
            }
        }
        Ok(())
    }

    /// Measures GPU-gated times: in each round, all competitors run in order and then in reverse
    /// order.
    fn gated(
        &mut self,
        competitors: &[Competitor<'_>],
        synchronize: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        for round in 0..self.rounds {
            for competitor in competitors.iter().chain(competitors.iter().rev()) {
                let before = (competitor.queue)(self.next(), Where::Device)?;
                self.finish(competitor, before, Where::Device)?;
                let (mut number, call) = (0, self.next());
                let micros = self.bench.gate.time(synchronize, || {
                    number = (competitor.queue)(call, Where::Device)?;
                    Ok(())
                })?;
                self.finish(competitor, number, Where::Device)?;
                for (gpu, micros) in (0..).zip(micros) {
                    self.keep(competitor.name, "gated", round, gpu, micros);
                }
            }
        }
        Ok(())
    }

    /// Measures the wall time from the call until the result is on the host.
    fn called(
        &mut self,
        competitors: &[&Competitor<'_>],
        alone: &dyn Fn(usize) -> Result<()>,
    ) -> Result<()> {
        for round in 0..self.rounds {
            for competitor in competitors {
                let call = self.next();
                let start = Instant::now();
                match &competitor.wait {
                    None if competitor.name == "one" => alone(call)?,
                    None => continue,
                    Some(wait) => {
                        wait((competitor.queue)(call, Where::Host)?, Where::Host)?;
                    }
                }
                let micros = start.elapsed().as_secs_f64() * 1e6;
                self.keep(competitor.name, "caller", round, 0, micros);
            }
        }
        Ok(())
    }

    /// Measures the mean time of calls that are queued without waiting for each other's results.
    fn queued(&mut self, competitors: &[&Competitor<'_>]) -> Result<()> {
        for round in 0..self.rounds.div_ceil(10) {
            for competitor in competitors {
                let start = Instant::now();
                let mut number = 0;
                for _ in 0..QUEUED {
                    number = (competitor.queue)(self.next(), Where::Host)?;
                }
                self.finish(competitor, number, Where::Host)?;
                let micros = start.elapsed().as_secs_f64() * 1e6 / f64::from(QUEUED);
                self.keep(competitor.name, "queued", round, 0, micros);
            }
        }
        Ok(())
    }
}

/// Queues a call that leaves its result at the given place, and returns the number with which to
/// wait for the call.
type Queue<'c> = dyn Fn(usize, Where) -> Result<u32> + 'c;

/// Waits for a call, and returns the bits of its result.
type Wait<'c> = dyn Fn(u32, Where) -> Result<u32> + 'c;

/// One of the sums that are timed.
struct Competitor<'c> {
    name: &'static str,
    queue: Box<Queue<'c>>,
    /// Waits for the result. `None` if the bits of the result are not compared, because each sum is
    /// computed by a single GPU, there is no result, or the bits are expected to differ.
    wait: Option<Box<Wait<'c>>>,
}

impl<'c> Competitor<'c> {
    fn without_bits(
        name: &'static str,
        queue: impl Fn(usize, Where) -> Result<u32> + 'c,
    ) -> Competitor<'c> {
        Competitor { name, queue: Box::new(queue), wait: None }
    }
}
