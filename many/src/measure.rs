//! Times on all GPUs of a process at once: gated by one word, and paired.
//!
//! All streams are held back by one number in pinned memory until everything is queued, so that no GPU
//! begins before another, and no gap is the host's. In a round every contender runs there and back.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, sys};
use reduce::{Operation, Reducer};

use crate::{
    Data, Error, Group, Layout, Local, Options, Result, Slice,
    cuda::{self, Pinned},
    error::doing,
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
    events: Vec<(CudaEvent, CudaEvent)>,
    gate: Arc<Gate>,
    local: Local,
    group: Option<Group>,
}

/// The word, and since when it is closed.
struct Gate {
    pinned: Pinned,
    closings: AtomicU64,
    opened: AtomicU64,
    broken: AtomicBool,
    over: AtomicBool,
}

impl Gate {
    fn open(&self, closing: u64) {
        self.pinned.put(closing as u32);
        self.opened.store(closing, Ordering::Release);
    }

    /// Opens what stays closed: a library that waits for the device while it queues would hang.
    fn watch(&self) {
        let (mut seen, mut since) = (0, Instant::now());
        while !self.over.load(Ordering::Acquire) {
            let closings = self.closings.load(Ordering::Acquire);
            if closings == self.opened.load(Ordering::Acquire) || closings != seen {
                (seen, since) = (closings, Instant::now());
            } else if since.elapsed() > Duration::from_secs(2) {
                self.broken.store(true, Ordering::Release);
                self.open(closings);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.gate.over.store(true, Ordering::Release);
    }
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
        let event = |stream: &Arc<CudaStream>| {
            let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
            stream.context().new_event(flags).map_err(doing("making an event"))
        };
        let events = streams.iter().map(|s| Ok((event(s)?, event(s)?))).collect::<Result<_>>()?;
        let gate = Arc::new(Gate {
            pinned: Pinned::new(&streams[0])?,
            closings: 0.into(),
            opened: 0.into(),
            broken: false.into(),
            over: false.into(),
        });
        let watched = gate.clone();
        thread::spawn(move || watched.watch());
        let local = Local::new(&streams, options.timeout)?;
        let group = nccl.map(|nccl| Group::local(&streams, nccl, options)).transpose()?;
        Ok(Bench { streams, events, gate, local, group })
    }

    /// Microseconds of each GPU, for what is queued.
    fn gated(
        &self,
        meet: impl FnOnce() -> Result<()>,
        queue: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<f64>> {
        let timing = || doing("timing");
        let closing = self.gate.closings.fetch_add(1, Ordering::AcqRel) + 1;
        let held = self
            .streams
            .iter()
            .try_for_each(|stream| self.gate.pinned.hold(stream, closing as u32));
        let met = held.and_then(|()| meet());
        let begun = met.and_then(|()| {
            self.streams.iter().zip(&self.events).try_for_each(|(stream, (start, _))| {
                cuda::bind(stream)?;
                start.record(stream).map_err(timing())
            })
        });
        let queued = begun.and_then(|()| queue());
        let ended = self.streams.iter().zip(&self.events).try_for_each(|(stream, (_, end))| {
            cuda::bind(stream)?;
            end.record(stream).map_err(timing())
        });
        // On every path: a stream that is held back hangs the program.
        self.gate.open(closing);
        queued.and(ended)?;
        if self.gate.broken.load(Ordering::Acquire) {
            return Err(Error::Gpus(
                "something waited for a GPU that was held back: no times".into(),
            ));
        }
        let micros = |(stream, (start, end)): (&Arc<CudaStream>, &(CudaEvent, CudaEvent))| {
            cuda::bind(stream)?;
            stream.synchronize().map_err(timing())?;
            start.elapsed_ms(end).map(|ms| f64::from(ms) * 1e3).map_err(timing())
        };
        self.streams.iter().zip(&self.events).map(micros).collect()
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

        // GPUs do not pass a gate in the same moment: behind it they meet, by a sum of which each needs the
        // other's mail.
        let ranks = self.local.plan::<f32>(MEETING, Operation::Sum)?;
        let zeros = (0..world)
            .zip(&self.streams)
            .map(|(rank, stream)| Data::on::<f32>(stream, ranks.layout().elements(rank)))
            .collect::<Result<Vec<_>>>()?;
        let zeros: Vec<&dyn Slice<f32>> = zeros.iter().map(|slice| slice as _).collect();
        let meet = || ranks.queue(&zeros).map(drop);

        // What a contender queues in a turn, and what then waits for its bits.
        let one = |turn: usize| -> Result<u32> {
            reducers[0].sum_into(&alone.at(turn), &mut outputs.borrow_mut()[0])?;
            Ok(0)
        };
        let share = |turn: usize| -> Result<u32> {
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
        let mut contenders: Vec<Contender<'_>> = vec![
            Contender {
                name: "one",
                queue: Box::new(one),
                wait: Box::new(|_| Ok(reducers[0].sum(&alone.at(0))?.to_bits())),
                waits: false,
            },
            Contender {
                name: "share",
                queue: Box::new(share),
                wait: Box::new(|_| Ok(0)),
                waits: false,
            },
            Contender {
                name: "kernel",
                queue: Box::new(|turn| with(turn, &|slices| kernel.queue(slices))),
                wait: Box::new(|epoch| kernel.wait(epoch).map(f32::to_bits)),
                waits: true,
            },
        ];
        contenders.push(Contender {
            name: "kernel-device",
            queue: Box::new(|turn| with(turn, &|slices| kernel.queue_to(slices, true))),
            wait: Box::new(|_| Ok(0)),
            waits: false,
        });
        if let Some(plan) = &gather {
            contenders.push(Contender {
                name: "gather-device",
                queue: Box::new(move |turn| with(turn, &|slices| plan.queue_to(slices, true))),
                wait: Box::new(|_| Ok(0)),
                waits: false,
            });
        }
        for (name, plan) in [("gather", &gather), ("reduce", &reduce)] {
            let Some(plan) = plan else { continue };
            contenders.push(Contender {
                name,
                queue: Box::new(move |turn| with(turn, &|slices| plan.queue(slices))),
                wait: Box::new(move |call| plan.wait(call).map(f32::to_bits)),
                waits: true,
            });
        }
        if let (Some(group), Some(plan)) = (&self.group, &gather) {
            contenders.push(Contender {
                name: "parts",
                queue: Box::new(move |turn| {
                    with(turn, &|slices| plan.queue_local(slices).map(|()| 0))
                }),
                wait: Box::new(|_| Ok(0)),
                waits: false,
            });
            // What everybody does: a total each, and the sum of the totals. Other bits.
            contenders.push(Contender {
                name: "totals",
                queue: Box::new(|turn| {
                    share(turn)?;
                    group.add_totals(&mut outputs.borrow_mut())?;
                    Ok(0)
                }),
                wait: Box::new(|_| Ok(0)),
                waits: false,
            });
        }
        let expected = (contenders[0].wait)(0)?;
        let finish = |contender: &Contender<'_>, call: u32| -> Result<()> {
            for stream in &self.streams {
                cuda::bind(stream)?;
                stream.synchronize().map_err(doing("waiting for all GPUs"))?;
            }
            let bits = if contender.waits { (contender.wait)(call)? } else { expected };
            if bits != expected {
                return Err(Error::Gpus(format!(
                    "{} has the bits {bits:#x} of {n}, and one GPU {expected:#x}: no times",
                    contender.name
                )));
            }
            Ok(())
        };
        // Everything once, so that nothing is compiled, allocated or connected in a time.
        for contender in &contenders {
            for turn in 0..5 {
                let call = (contender.queue)(turn)?;
                finish(contender, call)?;
            }
        }
        let mut turn = 0;
        // The host adds small sums: a GPU's clock knows nothing of them.
        let gated = if layout.is_small() { 0 } else { rounds };
        for round in 0..gated {
            let there = 0..contenders.len();
            for which in there.clone().chain(there.rev()) {
                let contender = &contenders[which];
                turn += 2;
                let call = (contender.queue)(turn)?;
                finish(contender, call)?;
                let mut call = 0;
                for clock in ["gated", "gated-old"] {
                    let micros = self.gated(
                        || if clock == "gated" { meet() } else { Ok(()) },
                        || {
                            call = (contender.queue)(turn + 1)?;
                            Ok(())
                        },
                    )?;
                    finish(contender, call)?;
                    for (gpu, micros) in (0..).zip(micros) {
                        let contender = contender.name;
                        sample(Sample { n, contender, clock, round, gpu, micros });
                    }
                }
            }
        }
        for round in 0..rounds {
            for contender in &contenders {
                turn += 1;
                // The caller's: from the call to the result in its hand.
                let start = Instant::now();
                match contender.name {
                    "one" => drop(reducers[0].sum(&alone.at(turn))?),
                    _ if contender.waits => drop((contender.wait)((contender.queue)(turn)?)?),
                    _ => continue,
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
                    call = (contender.queue)(turn)?;
                }
                finish(contender, call)?;
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

/// Who is timed: it queues a turn, and its result can be waited for by the number that it had.
struct Contender<'c> {
    name: &'static str,
    queue: Box<dyn Fn(usize) -> Result<u32> + 'c>,
    wait: Box<dyn Fn(u32) -> Result<u32> + 'c>,
    /// Whether its result comes to the host, so that its bits can be held against one GPU's.
    waits: bool,
}
