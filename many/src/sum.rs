//! The command `many sum`, which computes a sum over ranks in one or more processes, on GPUs or
//! interpreters.

use std::{env, fs, ops::Range, sync::Arc, thread, time::Duration};

use cudarc::driver::CudaStream;
use many::{
    Data, Datum, Error, Group, Launched, Layout, Local, Move, Options, Result, Slice,
    control::{self, Control, wire::Hello},
    launched,
    nccl::Nccl,
    played, resolve,
};
use reduce::Accumulator;

use crate::{
    args::{Device, Exchange, Sum, of_type},
    room,
    say::{failed, say},
    start,
};

/// Runs this process as one rank if a launcher started it. Otherwise, runs all ranks in this
/// process, or starts a process for each rank.
pub(crate) fn run(asked: &Sum) -> Result<()> {
    let launched = launched(&|name| env::var(name).ok(), asked.meeting.launcher)?;
    if let Some(launched) = launched {
        decided(asked, launched.rank.world)?;
        start::leash();
        return of_type!(asked.element, rank(asked, &launched));
    }
    let (device, world) = who(asked)?;
    if asked.one_process {
        return match device {
            Device::Simt => of_type!(asked.element, played_here(asked, world)),
            _ => of_type!(asked.element, here(asked, world)),
        };
    }
    if let Some(Exchange::Kernel) = asked.exchange {
        return Err(failed(
            "--exchange kernel needs all ranks in one process: add --one-process".into(),
        ));
    }
    if device == Device::Simt && world > PROCESSES {
        return Err(failed(format!(
            "{world} processes are more than the {PROCESSES} that can be started on one machine: use --one-process, which allows up to 1024 ranks"
        )));
    }
    // Errors that every rank would report are reported once, before any rank is started.
    let lengths = of_type!(asked.element, lengths(asked, world))?;
    if device == Device::Simt {
        of_type!(asked.element, room(asked, &lengths))?;
    }
    start::run(world, asked.meeting.port)
}

/// The maximum number of interpreter processes to start. Each process has its own threads and
/// connections.
const PROCESSES: u32 = 64;

fn room<T: Datum>(asked: &Sum, lengths: &[u64]) -> Result<()> {
    room::check::<T>(asked, room::total(lengths)?)
}

/// Rejects options that contradict the launcher.
fn decided(asked: &Sum, started: u32) -> Result<()> {
    match asked.gpus {
        Some(gpus) if gpus != started => Err(failed(format!(
            "--gpus asks for {gpus} ranks, but a launcher has started {started}: omit --gpus, or start {gpus}"
        ))),
        _ if asked.one_process => Err(failed(format!(
            "--one-process needs all ranks in one process, but a launcher has started {started}: start the program without the launcher"
        ))),
        _ => Ok(()),
    }
}

/// Returns the device that runs the ranks, and the number of ranks.
fn who(asked: &Sum) -> Result<(Device, u32)> {
    let gpus = gpus();
    let device = match asked.device {
        Device::Auto if gpus > 0 => Device::Cuda,
        Device::Auto => Device::Simt,
        device => device,
    };
    if device == Device::Cuda && gpus == 0 {
        let why =
            reduce::open(0).err().map_or("this machine has none".to_owned(), |why| why.to_string());
        return Err(failed(format!("--device cuda needs GPUs: {why}; --device simt needs none")));
    }
    let world = asked.gpus.unwrap_or(if device == Device::Simt { 2 } else { gpus.max(1) });
    if world == 0 || world > 1024 {
        return Err(failed(format!("{world} ranks: use 1 to 1024")));
    }
    if device == Device::Cuda && !asked.share {
        enough(world, gpus)?;
    }
    Ok((device, world))
}

fn enough(world: u32, gpus: u32) -> Result<()> {
    if world <= gpus {
        return Ok(());
    }
    Err(failed(format!(
        "{world} GPUs were requested, but this machine has {gpus}: request fewer, or use --share or --device simt"
    )))
}

pub(crate) fn gpus() -> u32 {
    if !reduce::has_driver() {
        return 0;
    }
    cudarc::driver::CudaContext::device_count().unwrap_or(0).max(0) as u32
}

/// Returns the number of elements on each rank.
fn lengths<T: Datum>(asked: &Sum, world: u32) -> Result<Vec<u64>> {
    let Some(lengths) = &asked.lengths else {
        let layout = Layout::even::<T>(asked.n.0, world)?;
        return Ok((0..world).map(|rank| layout.elements(rank)).map(|e| e.end - e.start).collect());
    };
    if lengths.len() != world as usize {
        let given = lengths.len();
        let noun = if given == 1 { "length" } else { "lengths" };
        return Err(Error::Shard(format!(
            "--lengths has {given} {noun}, but there are {world} ranks: give one length for each rank, or use --gpus {given}"
        )));
    }
    Ok(lengths.iter().map(|length| length.0).collect())
}

fn ranges(lengths: &[u64]) -> Vec<Range<u64>> {
    let next = |next: &mut u64, length: &u64| {
        let from = std::mem::replace(next, next.saturating_add(*length));
        Some(from..*next)
    };
    lengths.iter().scan(0, next).collect()
}

/// Runs all ranks in this process, as interpreters.
fn played_here<T: Datum>(asked: &Sum, world: u32) -> Result<()> {
    let lengths = lengths::<T>(asked, world)?;
    room::<T>(asked, &lengths)?;
    let (layout, moves) = Layout::ragged::<T>(&lengths)?;
    let moves = if layout.is_small() { Vec::new() } else { moves };
    let moved: u64 = moves.iter().map(|m| m.elements.end - m.elements.start).sum();
    let mut shards: Vec<Vec<T>> = ranges(&lengths).into_iter().map(Data::of).collect();
    // Each sending rank removes the elements from the start of its shard, and the owner appends
    // them to its shard.
    for Move { from, to, elements } in &moves {
        let rest = shards[*from as usize].split_off((elements.end - elements.start) as usize);
        let sent = std::mem::replace(&mut shards[*from as usize], rest);
        shards[*to as usize].extend(sent);
    }
    let operation = asked.op.into();
    let mut bits = None;
    if let Some(Exchange::Kernel) = asked.exchange {
        return exchanged(asked, &layout, &shards);
    }
    for call in 1..=asked.repeat {
        let block =
            |rank| played::block(&shards[rank as usize], &layout, rank, operation, call.into());
        let blocks: Vec<Vec<u8>> = (0..world).map(block).collect::<Result<_>>()?;
        bits = Some(played::finish::<T>(&blocks, &layout, operation, call.into())?);
    }
    let how = match moved {
        0 => "interpreters in one process".to_owned(),
        _ => format!(
            "interpreters in one process, {moved} elements moved to the owner of their chunk"
        ),
    };
    tell::<T>(asked, layout.n, world, &how, bits.unwrap_or_default(), || {
        played::one(&Data::of::<T>(0..layout.n), operation)
    })
}

/// Runs all ranks in this process, as interpreters whose kernels exchange messages.
fn exchanged<T: Datum>(asked: &Sum, layout: &Layout, shards: &[Vec<T>]) -> Result<()> {
    let (world, operation) = (layout.world(), asked.op.into());
    let shards: Vec<&[T]> = shards.iter().map(Vec::as_slice).collect();
    let parts: Vec<_> = (0..world).map(|rank| layout.of(rank)).collect();
    let one = || played::one(&Data::of::<T>(0..layout.n), operation);
    let bits = repeated(asked, |call| match layout.is_small() {
        true => played::read(&shards, layout.shape, operation),
        false => played::exchange(&shards, layout.shape, &parts, operation, call, 1000)?
            .map_err(|part| failed(format!("the sum of chunk {part} did not arrive"))),
    })?;
    tell::<T>(
        asked,
        layout.n,
        world,
        "interpreters in one process, messages between the kernels",
        bits,
        one,
    )
}

/// Runs all ranks in this process, each on its GPU.
fn here<T: Datum>(asked: &Sum, world: u32) -> Result<()> {
    let streams: Vec<_> = (0..world as usize)
        .map(|rank| reduce::open(if asked.share { 0 } else { rank }))
        .collect::<Result<_, _>>()?;
    let lengths = lengths::<T>(asked, world)?;
    let slices = ranges(&lengths)
        .into_iter()
        .zip(&streams)
        .map(|(range, stream)| Data::on::<T>(stream, range))
        .collect::<Result<Vec<_>>>()?;
    let slices: Vec<&dyn Slice<T>> = slices.iter().map(|slice| slice as _).collect();
    let n = lengths.iter().sum();
    let operation = asked.op.into();
    let one = || one_gpu::<T>(&streams[0], n, asked);
    if let Some(Exchange::Kernel) | None = asked.exchange {
        let local = Local::new(&streams, asked.meeting.engine.timeout)?;
        let plan = local.plan::<T>(n, operation)?;
        let bits = repeated(asked, |_| Ok(plan.run(&slices)?.to_bits64()))?;
        return tell::<T>(
            asked,
            n,
            world,
            "GPUs in one process, messages between the kernels",
            bits,
            one,
        );
    }
    let group = Group::local(&streams, &nccl(asked)?, &options(asked))?;
    let plan = group.plan::<T>(operation, &lengths)?;
    let bits = repeated(asked, |_| Ok(plan.run(&slices)?.to_bits64()))?;
    tell::<T>(asked, n, world, "GPUs in one process, NCCL between them", bits, one)
}

pub(crate) fn options(asked: &Sum) -> Options {
    let reduce = asked.exchange.map(|exchange| exchange == Exchange::Reduce);
    Options {
        timeout: asked.meeting.engine.timeout,
        nccl: asked.meeting.engine.nccl.clone(),
        reduce,
    }
}

fn nccl(asked: &Sum) -> Result<Nccl> {
    multicast(asked.meeting.engine.multicast)?;
    Nccl::find(asked.meeting.engine.nccl.as_deref())
}

/// Fails unless NVLink multicast is disabled or explicitly requested. Multicast affects all GPUs of
/// a host, and does not speed up these exchanges.
pub(crate) fn multicast(wanted: bool) -> Result<()> {
    let set = env::var("NCCL_NVLS_ENABLE").unwrap_or_default();
    if wanted || set == "0" {
        return Ok(());
    }
    Err(Error::Nccl(format!(
        "NCCL_NVLS_ENABLE is {set:?}: set it to 0 to keep NCCL from using NVLink multicast, or pass --multicast"
    )))
}

/// Repeats the call, checks that the bits of its result are the same in all calls, and returns
/// these bits.
fn repeated(asked: &Sum, mut call: impl FnMut(u32) -> Result<u64>) -> Result<u64> {
    let mut bits = None;
    for number in 1..=asked.repeat.max(1) {
        let now = call(number)?;
        if let Some(before) = bits.filter(|before| *before != now) {
            return Err(Error::Bits(format!(
                "the result of call {number} has the bits {now:#x}, but earlier results have {before:#x}: please report this error"
            )));
        }
        bits = Some(now);
    }
    Ok(bits.unwrap_or_default())
}

/// Returns the bits of the same sum on one GPU, or an error if the GPU has too little memory for
/// all elements.
fn one_gpu<T: Datum>(stream: &Arc<CudaStream>, n: u64, asked: &Sum) -> Result<u64> {
    let slice = Data::on::<T>(stream, 0..n)?;
    let operation = asked.op.into();
    let one = reduce::reduce(stream, operation, &slice)?;
    Ok(one.to_bits64())
}

fn tell<T: Datum>(
    asked: &Sum,
    n: u64,
    world: u32,
    how: &str,
    bits: u64,
    one: impl FnOnce() -> Result<u64>,
) -> Result<()> {
    let what = format!("{:?}", reduce::Operation::from(asked.op)).to_lowercase();
    let value = T::Output::from_bits64(bits);
    let how = match world {
        1 => how.replacen("interpreters", "interpreter", 1).replacen("GPUs", "GPU", 1),
        _ => how.to_owned(),
    };
    say(&format!("the {what} of {n} {} over {world} {how}: {value:?} (bits {bits:#x})", T::NAME));
    if asked.repeat > 1 {
        say(&format!("the results of {} calls have the same bits", asked.repeat));
    }
    if asked.unchecked {
        return Ok(());
    }
    let alone = one()?;
    if alone != bits {
        return Err(Error::Bits(format!(
            "the result on one device is {:?} (bits {alone:#x}), which differs: please report this error",
            T::Output::from_bits64(alone)
        )));
    }
    say("the sum on one device has the same bits");
    Ok(())
}

/// Runs this process as one rank.
fn rank<T: Datum>(asked: &Sum, launched: &Launched) -> Result<()> {
    let gpus = gpus();
    let device = match asked.device {
        Device::Auto if gpus > 0 => Device::Cuda,
        Device::Auto => Device::Simt,
        device => device,
    };
    let host = match asked.meeting.bind {
        Some(address) => address.to_string(),
        None => launched.host.clone(),
    };
    let meeting = control::Meeting {
        address: resolve(&host, asked.meeting.port.unwrap_or(launched.port))?,
        token: env::var("MANY_TOKEN").unwrap_or_default(),
        timeout: asked.meeting.engine.timeout,
    };
    let many::Rank { rank, world } = launched.rank;
    let hello = Hello {
        rank,
        world,
        job: launched.job.clone(),
        host: hostname(),
        pid: std::process::id(),
        ..Hello::default()
    };
    let lengths = lengths::<T>(asked, world)?;
    if device == Device::Simt {
        let control = control::meet(&meeting, hello, || Ok(Vec::new()))?;
        let done = played_rank::<T>(asked, &control, &lengths);
        return gave_up(&control, done);
    }
    let local = launched.local as usize;
    let stream = reduce::open(if local < gpus as usize { local } else { 0 })?;
    let nccl = nccl(asked)?;
    let hello = Hello { gpu: many::name_of(&stream)?, nccl: nccl.version(), ..hello };
    let control = control::meet(&meeting, hello, || nccl.id())?;
    hold(asked, "before", rank);
    let group = Group::join(&stream, &nccl, control, &options(asked))?;
    let done = ranked::<T>(asked, &group, &stream, rank, &lengths);
    match group.control() {
        Some(control) => gave_up(control, done),
        None => done,
    }
}

fn gave_up(control: &Control, done: Result<()>) -> Result<()> {
    if let Err(error) = &done {
        control.give_up(error);
    }
    done
}

fn ranked<T: Datum>(
    asked: &Sum,
    group: &Group,
    stream: &Arc<CudaStream>,
    rank: u32,
    lengths: &[u64],
) -> Result<()> {
    let range = ranges(lengths)[rank as usize].clone();
    let slice = Data::on::<T>(stream, range)?;
    let plan = group.plan::<T>(asked.op.into(), &[slice.len() as u64])?;
    same(lengths, plan.lengths())?;
    let bits = repeated(asked, |call| {
        if call == 2 {
            hold(asked, "during", rank);
        }
        Ok(plan.run(&[&slice])?.to_bits64())
    })?;
    hold(asked, "after", rank);
    let n = lengths.iter().sum();
    if rank > 0 {
        return Ok(());
    }
    let how = "GPUs, one process each, NCCL between them";
    tell::<T>(asked, n, group.world(), how, bits, || one_gpu::<T>(stream, n, asked))
}

/// Checks that every rank has the number of elements that the options of this rank give it.
fn same(here: &[u64], agreed: &[u64]) -> Result<()> {
    let other = |rank: &usize| here.get(*rank) != agreed.get(*rank);
    let Some(rank) = (0..agreed.len()).find(other) else { return Ok(()) };
    Err(Error::Shard(format!(
        "rank {rank} has {} elements, but the options of this rank give it {}: start all ranks with the same --elements or --lengths",
        agreed[rank], here[rank]
    )))
}

fn played_rank<T: Datum>(asked: &Sum, control: &Control, asked_of: &[u64]) -> Result<()> {
    let many::Rank { rank, world } = control.rank();
    let operation = reduce::Operation::from(asked.op);
    let name = format!("{operation:?}").to_lowercase();
    let lengths = control.agree(T::NAME, &name, asked_of[rank as usize])?;
    same(asked_of, &lengths)?;
    let (layout, moves) = Layout::ragged::<T>(&lengths)?;
    let own = match layout.is_small() || moves.is_empty() {
        true => ranges(&lengths)[rank as usize].clone(),
        false => layout.elements(rank),
    };
    let elements = Data::of::<T>(own);
    hold(asked, "before", rank);
    let bits = repeated(asked, |call| {
        let block = played::block(&elements, &layout, rank, operation, call.into())?;
        if call == 2 {
            hold(asked, "during", rank);
        }
        played::finish::<T>(&control.gather(block)?, &layout, operation, call.into())
    })?;
    hold(asked, "after", rank);
    if rank > 0 {
        return Ok(());
    }
    tell::<T>(asked, layout.n, world, "interpreters, one process each", bits, || {
        played::one(&Data::of::<T>(0..layout.n), operation)
    })
}

/// If a test requests it, prints the process id and stops at this point, so that the test can kill
/// the process.
fn hold(asked: &Sum, point: &str, rank: u32) {
    if asked.hold.as_deref() == Some(&format!("{point}:{rank}")) {
        say(&format!("holding {point} {}", std::process::id()));
        thread::sleep(Duration::from_secs(600));
    }
}

fn hostname() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| env::var("HOSTNAME").ok()).or_else(|| env::var("COMPUTERNAME").ok());
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or("?".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_gpus_than_the_machine_has() {
        assert!(enough(2, 2).is_ok());
        assert_eq!(
            enough(3, 2).unwrap_err().to_string(),
            "3 GPUs were requested, but this machine has 2: request fewer, or use --share or --device simt"
        );
    }
}
