//! Times on all GPUs of a process at once, gated and paired: in a round every contender runs there and
//! back.
//!
//! On the gate's clock every result stays on the GPUs, as that of one GPU's sum does that waits for nobody;
//! what a host waits for has a clock of its own.

use std::{cell::RefCell, sync::Arc, time::Instant};

use cudarc::driver::{CudaSlice, CudaStream};
use reduce::{Operation, Reducer};

use crate::{
    Data, Error, Group, Layout, Local, Options, Result, Slice,
    cuda::{self, Where},
    error::doing,
    gate::Gate,
    nccl::Nccl,
};

/// One time.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Elements in all.
    pub n: u64,
    /// Who ran.
    pub contender: &'static str,
    /// Whose clock: `gated`, `caller`, or `queued`, the mean of calls one behind the other.
    pub clock: &'static str,
    /// Which round, from 0.
    pub round: u32,
    /// The GPU; of the other clocks 0.
    pub gpu: u32,
    /// Microseconds.
    pub micros: f64,
}

/// Calls one behind the other.
const QUEUED: u32 = 50;

/// Elements of the sum by which GPUs meet: the fewest whose parts' sums travel.
const MEETING: u64 = 1 << 16;

/// So much is touched before an input is read again: more than any L2 holds.
const ROTATED: u64 = 512 << 20;

/// The GPUs, and what holds them back.
pub struct Bench {
    streams: Vec<Arc<CudaStream>>,
    gate: Gate,
    local: Local,
    group: Option<Group>,
}

/// Copies of a GPU's input, read in turn.
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

    fn at(&self, turn: usize) -> cudarc::driver::CudaView<'_, f32> {
        let from = turn % self.copies * self.apart;
        self.all.slice(from..from + self.length)
    }
}

impl Bench {
    /// The first GPUs of this machine; with NCCL if it is given.
    pub fn new(gpus: usize, nccl: Option<&Nccl>, options: &Options) -> Result<Bench> {
        let streams = (0..gpus).map(reduce::open).collect::<Result<Vec<_>, _>>()?;
        let gate = Gate::new(&streams)?;
        let local = Local::new(&streams, options.timeout)?;
        let group = nccl.map(|nccl| Group::local(&streams, nccl, options)).transpose()?;
        Ok(Bench { streams, gate, local, group })
    }

    /// All times at one length, whose every result has the bits that one GPU has.
    pub fn at(&self, n: u64, rounds: u32, sample: &mut dyn FnMut(Sample)) -> Result<()> {
        let world = self.streams.len() as u32;
        let layout = Layout::even::<f32>(n, world)?;
        let inputs = (0..world)
            .zip(&self.streams)
            .map(|(rank, stream)| Input::new(stream, layout.elements(rank)))
            .collect::<Result<Vec<_>>>()?;
        let alone = Input::new(&self.streams[0], 0..n)?;
        let reducers =
            self.streams.iter().map(Reducer::<f32>::new).collect::<Result<Vec<_>, _>>()?;
        let outputs = self
            .streams
            .iter()
            .map(|stream| stream.alloc_zeros::<f32>(4).map_err(doing("allocating a result")))
            .collect::<Result<Vec<_>>>()?;
        let outputs = RefCell::new(outputs);
        let lengths: Vec<u64> = inputs.iter().map(|input| input.length as u64).collect();
        let kernel = self.local.plan::<f32>(n, Operation::Sum)?;
        let plan = |reduce| match &self.group {
            Some(group) => group.plan_by::<f32>(Operation::Sum, &lengths, reduce).map(Some),
            None => Ok(None),
        };
        let (gather, reduce) = (plan(false)?, plan(true)?);

        let ranks = self.local.plan::<f32>(MEETING, Operation::Sum)?;
        let met = (0..world)
            .zip(&self.streams)
            .map(|(rank, stream)| Data::on::<f32>(stream, ranks.layout().elements(rank)))
            .collect::<Result<Vec<_>>>()?;
        let met: Vec<&dyn Slice<f32>> = met.iter().map(|slice| slice as _).collect();
        let meet = || ranks.queue(&met).map(drop);

        // What a contender queues in a turn, and what then waits for its bits.
        let one = |turn: usize, _| -> Result<u32> {
            reducers[0].sum_into(&alone.at(turn), &mut outputs.borrow_mut()[0])?;
            Ok(0)
        };
        let share = |turn: usize, _| -> Result<u32> {
            for (rank, reducer) in reducers.iter().enumerate() {
                reducer.sum_into(&inputs[rank].at(turn), &mut outputs.borrow_mut()[rank])?;
            }
            Ok(0)
        };
        let with = |turn: usize, queue: Queue<'_>| {
            let views: Vec<_> = inputs.iter().map(|input| input.at(turn)).collect();
            let slices: Vec<&dyn Slice<f32>> = views.iter().map(|view| view as _).collect();
            queue(&slices)
        };
        let in_kernel = |turn, place| with(turn, &|slices| kernel.queue_to(slices, place));
        let bits = |sum: Result<f32>| sum.map(f32::to_bits);
        let mut contenders: Vec<Contender<'_>> = vec![
            Contender { name: "one", queue: Box::new(one), wait: None },
            Contender { name: "share", queue: Box::new(share), wait: None },
            Contender {
                name: "kernel",
                queue: Box::new(in_kernel),
                wait: Some(Box::new(|call, place| match place {
                    Where::Host => bits(kernel.wait(call)),
                    Where::Device => bits(kernel.left(call)),
                })),
            },
            // What it takes to tell the host, who is told in every other clock.
            Contender {
                name: "told",
                queue: Box::new(|turn, _| in_kernel(turn, Where::Host)),
                wait: Some(Box::new(|call, _| bits(kernel.wait(call)))),
            },
        ];
        for (name, plan) in [("gather", &gather), ("reduce", &reduce)] {
            let Some(plan) = plan else { continue };
            contenders.push(Contender {
                name,
                queue: Box::new(move |turn, place| {
                    with(turn, &|slices| plan.queue_to(slices, place))
                }),
                wait: Some(Box::new(move |call, place| match place {
                    Where::Host => bits(plan.wait(call)),
                    Where::Device => bits(plan.left(call)),
                })),
            });
        }
        if let (Some(group), Some(plan)) = (&self.group, &gather) {
            // A GPU's parts of the whole, and nothing else: cut as the whole is.
            contenders.push(Contender {
                name: "parts",
                queue: Box::new(move |turn, _| {
                    with(turn, &|slices| plan.queue_local(slices).map(|()| 0))
                }),
                wait: None,
            });
            // What everybody does: a total each, and the sum of the totals. Other bits.
            contenders.push(Contender {
                name: "totals",
                queue: Box::new(|turn, place| {
                    share(turn, place)?;
                    group.add_totals(&mut outputs.borrow_mut())?;
                    Ok(0)
                }),
                wait: None,
            });
        }
        let expected = reducers[0].sum(&alone.at(0))?.to_bits();
        let finish = |contender: &Contender<'_>, call: u32, place: Where| -> Result<()> {
            for stream in &self.streams {
                cuda::bind(stream)?;
                stream.synchronize().map_err(doing("waiting for all GPUs"))?;
            }
            let Some(wait) = &contender.wait else { return Ok(()) };
            match wait(call, place)? {
                bits if bits == expected => Ok(()),
                bits => Err(Error::Gpus(format!(
                    "{} has the bits {bits:#x} of {n}, and one GPU {expected:#x}: no times",
                    contender.name
                ))),
            }
        };
        // Everything once, so that nothing is compiled, allocated or connected in a time.
        for contender in &contenders {
            for (turn, place) in (0..).zip([Where::Host, Where::Device, Where::Host]) {
                let call = (contender.queue)(turn, place)?;
                finish(contender, call, place)?;
            }
        }
        let mut turn = 0;
        for round in 0..rounds {
            let there = 0..contenders.len();
            for which in there.clone().chain(there.rev()) {
                let contender = &contenders[which];
                turn += 2;
                let call = (contender.queue)(turn, Where::Device)?;
                finish(contender, call, Where::Device)?;
                let mut call = 0;
                let micros = self.gate.time(meet, || {
                    call = (contender.queue)(turn + 1, Where::Device)?;
                    Ok(())
                })?;
                finish(contender, call, Where::Device)?;
                for (gpu, micros) in (0..).zip(micros) {
                    let (contender, clock) = (contender.name, "gated");
                    sample(Sample { n, contender, clock, round, gpu, micros });
                }
            }
        }
        contenders.retain(|contender| contender.name != "told");
        for round in 0..rounds {
            for contender in &contenders {
                turn += 1;
                // The caller's: from the call to the result in its hand.
                let start = Instant::now();
                match &contender.wait {
                    None if contender.name == "one" => drop(reducers[0].sum(&alone.at(turn))?),
                    None => continue,
                    Some(wait) => drop(wait((contender.queue)(turn, Where::Host)?, Where::Host)?),
                }
                let micros = start.elapsed().as_secs_f64() * 1e6;
                let (contender, clock) = (contender.name, "caller");
                sample(Sample { n, contender, clock, round, gpu: 0, micros });
            }
        }
        for round in 0..rounds.div_ceil(10) {
            for contender in &contenders {
                let start = Instant::now();
                let mut call = 0;
                for _ in 0..QUEUED {
                    turn += 1;
                    call = (contender.queue)(turn, Where::Host)?;
                }
                finish(contender, call, Where::Host)?;
                let micros = start.elapsed().as_secs_f64() * 1e6 / f64::from(QUEUED);
                let (contender, clock) = (contender.name, "queued");
                sample(Sample { n, contender, clock, round, gpu: 0, micros });
            }
        }
        Ok(())
    }
}

/// Queues a sum of these slices.
type Queue<'q> = &'q dyn Fn(&[&dyn Slice<f32>]) -> Result<u32>;

/// Queues a turn, with the result left there, and says by which number it is waited for.
type Turn<'c> = dyn Fn(usize, Where) -> Result<u32> + 'c;

/// The bits of a call's result.
type Wait<'c> = dyn Fn(u32, Where) -> Result<u32> + 'c;

/// Who is timed.
struct Contender<'c> {
    name: &'static str,
    queue: Box<Turn<'c>>,
    /// None if its bits are no concern of this: its own sum, or other bits.
    wait: Option<Box<Wait<'c>>>,
}
