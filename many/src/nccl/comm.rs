//! Communicators: how ranks join, and what they queue.
//!
//! One of the files with `unsafe`. Whatever needs another rank on the host never blocks: it is asked for
//! its state, until a deadline, or until someone else has gone. A communicator that does not block makes
//! a thread for each group, some fifty microseconds; so collectives have a second one, split off the
//! first, that may block. It has nothing to wait for: all ranks are connected when they have joined.
#![expect(unsafe_code, reason = "NCCL is called through its C functions")]

use std::{
    env,
    ffi::{c_int, c_void},
    ptr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::CudaStream;

use super::{Config, FLOAT32, Id, Nccl, OLDEST, REMOTE, Raw, SUCCESS, SUM, UINT8, UINT32, UNSET};
use crate::{Error, Result};

/// Who is asked whether to wait on: an error ends the waiting.
pub type Alive<'a> = &'a dyn Fn() -> Result<()>;

/// A rank's stream; nothing where a library is tried that has no GPU.
pub type Place = Option<Arc<CudaStream>>;

/// One rank's communicators, on a stream.
pub struct Comm {
    nccl: Nccl,
    rank: u32,
    /// It never blocks: to join, and to send what ranks must connect for first.
    raw: Raw,
    /// For collectives, whose queueing needs no other rank; or the same one.
    ready: Raw,
    stream: Place,
    broken: bool,
}

/// What NCCL reads of it: whether ranks connect when they first exchange something, or as they join.
const CONNECT: &str = "NCCL_RUNTIME_CONNECT";

/// The first version that asks.
const CONNECTS_LATE: u32 = 22_200;

/// Has NCCL connect ranks as they join, so that sums are queued some fifty microseconds sooner. For the
/// beginning of a program: it does nothing where the environment has a word of its own, or where other
/// threads run that may read it.
pub fn connect_early() {
    let alone = std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    if alone && env::var_os(CONNECT).is_none() {
        // SAFETY: nobody else reads or writes the environment: this is the only thread.
        unsafe { env::set_var(CONNECT, "0") };
    }
}

/// A communicator of `OLDEST`'s form.
fn config(blocking: bool) -> Config {
    Config {
        size: size_of::<Config>(),
        magic: 0xcafe_beef,
        version: OLDEST,
        blocking: blocking.into(),
        cga_cluster_size: UNSET,
        min_ctas: UNSET,
        max_ctas: UNSET,
        net_name: ptr::null(),
        split_share: UNSET,
    }
}

// SAFETY: NCCL's communicators may be used by one thread at a time, whichever it is; this is not `Sync`.
unsafe impl Send for Comm {}

impl std::fmt::Debug for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a communicator of {:?}", self.nccl)
    }
}

impl Comm {
    /// The communicators of this process's ranks: each with its stream, and which of `world` it is.
    pub fn join(
        nccl: &Nccl,
        id: &[u8],
        world: u32,
        ranks: &[(u32, Place)],
        timeout: Duration,
        alive: Alive<'_>,
    ) -> Result<Vec<Comm>> {
        let id: [u8; 128] = id.try_into().map_err(|_| {
            Error::Nccl(format!("NCCL's id has 128 bytes, and rank 0 sent {}", id.len()))
        })?;
        let mut comms = Vec::new();
        // NCCL keeps these places, and writes to them once a communicator is ready.
        let mut raws = vec![ptr::null_mut(); ranks.len()];
        // SAFETY: a group is begun, and ended below on every path.
        unsafe { (nccl.functions.group_start)() };
        let mut begun = Ok(());
        for ((rank, stream), raw) in ranks.iter().zip(&mut raws) {
            begun = bind(stream);
            if begun.is_err() {
                break;
            }
            // SAFETY: the context of the rank's GPU is current; the configuration is copied.
            let code = unsafe {
                let (world, rank) = (world as c_int, *rank as c_int);
                (nccl.functions.init)(raw, world, Id(id), rank, &mut config(false))
            };
            comms.push(Comm {
                nccl: nccl.clone(),
                rank: *rank,
                raw: *raw,
                ready: *raw,
                stream: stream.clone(),
                broken: raw.is_null(),
            });
            begun = nccl.check(JOINING, code, ptr::null_mut());
            if begun.is_err() {
                break;
            }
        }
        // SAFETY: begun above.
        let code = unsafe { (nccl.functions.group_end)() };
        let ended = nccl.check(JOINING, code, ptr::null_mut());
        let deadline = Instant::now() + timeout;
        let mut joined =
            begun.and(ended).and_then(|()| settle(JOINING, &comms, Kind::Raw, deadline, alive));
        let early = nccl.version() < CONNECTS_LATE || env::var(CONNECT).is_ok_and(|set| set == "0");
        if joined.is_ok() && early && world > 1 {
            joined = split(nccl, &mut comms, deadline, alive);
        }
        if joined.is_err() {
            comms.iter_mut().for_each(Comm::abort);
        }
        joined.map(|()| comms)
    }

    fn of(&self, kind: Kind) -> Raw {
        match kind {
            Kind::Raw => self.raw,
            Kind::Ready => self.ready,
        }
    }

    /// NCCL's name for its state: whether what was asked for is under way yet.
    fn state(&self, kind: Kind) -> Result<bool> {
        let (raw, mut code) = (self.of(kind), SUCCESS);
        // SAFETY: the communicator lives, and the answer has a place.
        let asked = unsafe { (self.nccl.functions.async_error)(raw, &mut code) };
        self.nccl.check("asking NCCL", asked, raw)?;
        if code == REMOTE {
            return Err(Error::Nccl("NCCL says that another rank is gone".into()));
        }
        self.nccl.check("NCCL's own work", code, raw)?;
        Ok(code == SUCCESS)
    }

    /// Whether all is well.
    pub fn check(&self) -> Result<()> {
        if self.broken {
            return Err(Error::Nccl("NCCL's communicator was aborted: join again".into()));
        }
        self.state(Kind::Raw)?;
        self.state(Kind::Ready).map(drop)
    }

    /// Ends what runs, on the GPU too: kernels that wait for a rank that is gone.
    pub fn abort(&mut self) {
        if !std::mem::replace(&mut self.broken, true) {
            let _ = bind(&self.stream);
            if self.ready != self.raw {
                // SAFETY: the communicator lives, and is not used again.
                unsafe { (self.nccl.functions.abort)(self.ready) };
            }
            // SAFETY: as above.
            unsafe { (self.nccl.functions.abort)(self.raw) };
        }
    }

    /// Every rank's bytes to every rank: `each` of them lie in a row, and this rank's are in place.
    ///
    /// # Safety
    /// At the address are `world` times as many bytes on the device, until the stream has passed.
    pub(crate) unsafe fn all_gather(&self, row: u64, each: u64, rank: u32) -> Result<()> {
        let own = (row + u64::from(rank) * each) as *const c_void;
        let (row, stream) = (row as *mut c_void, handle(&self.stream));
        // SAFETY: as the caller says.
        let code = unsafe {
            (self.nccl.functions.all_gather)(own, row, each as usize, UINT8, self.ready, stream)
        };
        self.nccl.check("gathering", code, self.ready)
    }

    /// The sum of all ranks' words of 32 bits, in place, as integers or as floats.
    ///
    /// # Safety
    /// At the address are so many words on the device, until the stream has passed.
    pub(crate) unsafe fn all_reduce(&self, words: u64, count: u64, float: bool) -> Result<()> {
        let (at, stream) = (words as *mut c_void, handle(&self.stream));
        let kind = if float { FLOAT32 } else { UINT32 };
        // SAFETY: as the caller says.
        let code = unsafe {
            (self.nccl.functions.all_reduce)(at, at, count as usize, kind, SUM, self.ready, stream)
        };
        self.nccl.check("adding what ranks have", code, self.ready)
    }

    /// Sends bytes to a rank.
    ///
    /// # Safety
    /// At the address are so many bytes on the device, until the stream has passed.
    pub(crate) unsafe fn send(&self, from: u64, bytes: u64, to: u32) -> Result<()> {
        let (from, stream) = (from as *const c_void, handle(&self.stream));
        // SAFETY: as the caller says.
        let code = unsafe {
            (self.nccl.functions.send)(from, bytes as usize, UINT8, to as c_int, self.raw, stream)
        };
        self.nccl.check("sending", code, self.raw)
    }

    /// Receives bytes from a rank.
    ///
    /// # Safety
    /// At the address is room for so many bytes on the device, until the stream has passed.
    pub(crate) unsafe fn receive(&self, to: u64, bytes: u64, from: u32) -> Result<()> {
        let (to, stream) = (to as *mut c_void, handle(&self.stream));
        // SAFETY: as the caller says.
        let code = unsafe {
            (self.nccl.functions.receive)(
                to,
                bytes as usize,
                UINT8,
                from as c_int,
                self.raw,
                stream,
            )
        };
        self.nccl.check("receiving", code, self.raw)
    }

    /// Takes leave of the other ranks, and waits for them.
    fn leave(&mut self) -> Result<()> {
        bind(&self.stream)?;
        if self.ready != self.raw {
            // SAFETY: the communicator lives, and is not used again: whoever took part in its work has
            // waited for it.
            let code = unsafe { (self.nccl.functions.destroy)(self.ready) };
            self.ready = self.raw;
            self.nccl.check("taking leave", code, ptr::null_mut())?;
        }
        // SAFETY: the communicator lives.
        let code = unsafe { (self.nccl.functions.finalize)(self.raw) };
        self.nccl.check("taking leave", code, self.raw)?;
        let deadline = Instant::now() + Duration::from_secs(2);
        while !self.state(Kind::Raw)? {
            if Instant::now() >= deadline {
                return Err(Error::Nccl("the others did not take leave".into()));
            }
            thread::sleep(Duration::from_micros(200));
        }
        // SAFETY: finalised, and not used again.
        let code = unsafe { (self.nccl.functions.destroy)(self.raw) };
        self.broken = true;
        self.nccl.check("taking leave", code, ptr::null_mut())
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        if !self.broken && self.leave().is_err() {
            self.abort();
        }
    }
}

/// What was being done.
const JOINING: &str = "joining the other ranks";
const QUEUEING: &str = "queueing what ranks exchange";

/// Which of a rank's communicators: the one that never blocks, or the one of collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Raw,
    Ready,
}

/// The communicators of collectives, split off those that have joined. The splitting itself is theirs,
/// and so does not block.
fn split(nccl: &Nccl, comms: &mut [Comm], deadline: Instant, alive: Alive<'_>) -> Result<()> {
    let mut all = vec![ptr::null_mut(); comms.len()];
    // SAFETY: a group is begun, and ended below on every path.
    unsafe { (nccl.functions.group_start)() };
    let mut begun = Ok(());
    for (comm, ready) in comms.iter().zip(&mut all) {
        begun = bind(&comm.stream).and_then(|()| {
            // SAFETY: the communicator lives; `all` has a place for the answer until it has come, or
            // the communicator is aborted.
            let code = unsafe {
                let (rank, config) = (comm.rank as c_int, &mut config(true));
                (nccl.functions.split)(comm.raw, 0, rank, ready, config)
            };
            nccl.check(JOINING, code, comm.raw)
        });
        if begun.is_err() {
            break;
        }
    }
    // SAFETY: begun above.
    let code = unsafe { (nccl.functions.group_end)() };
    let ended = nccl.check(JOINING, code, ptr::null_mut());
    let done = begun.and(ended).and_then(|()| settle(JOINING, comms, Kind::Raw, deadline, alive));
    if done.is_err() {
        // Before the places go.
        comms.iter_mut().for_each(Comm::abort);
    }
    for (comm, ready) in comms.iter_mut().zip(all).filter(|(_, ready)| !ready.is_null()) {
        comm.ready = ready;
    }
    done
}

/// Does the collectives of several ranks of this process as one, and waits until they are queued.
pub(crate) fn grouped(
    comms: &mut [Comm],
    kind: Kind,
    timeout: Duration,
    alive: Alive<'_>,
    work: impl FnOnce(&[Comm]) -> Result<()>,
) -> Result<()> {
    let Some(nccl) = comms.first().map(|comm| comm.nccl.clone()) else { return Ok(()) };
    // SAFETY: a group is begun, and ended below on every path.
    unsafe { (nccl.functions.group_start)() };
    let worked = work(comms);
    // SAFETY: begun above.
    let code = unsafe { (nccl.functions.group_end)() };
    let ended = nccl.check(QUEUEING, code, comms[0].of(kind));
    let deadline = Instant::now() + timeout;
    let done = worked.and(ended).and_then(|()| settle(QUEUEING, comms, kind, deadline, alive));
    if done.is_err() {
        comms.iter_mut().for_each(Comm::abort);
    }
    done
}

/// Waits until no communicator is at work.
fn settle(
    doing: &str,
    comms: &[Comm],
    kind: Kind,
    deadline: Instant,
    alive: Alive<'_>,
) -> Result<()> {
    let started = Instant::now();
    let mut looks = 0u32;
    for comm in comms.iter() {
        while !comm.state(kind)? {
            alive()?;
            if Instant::now() >= deadline {
                let waited = deadline.duration_since(started).as_secs_f64().max(0.0);
                return Err(Error::Nccl(format!(
                    "{doing}: NCCL was not ready within {waited:.0} s; it was aborted"
                )));
            }
            looks += 1;
            if looks > 10_000 {
                thread::sleep(Duration::from_micros(100))
            } else {
                std::hint::spin_loop()
            }
        }
    }
    Ok(())
}

/// NCCL asks which device is current.
fn bind(place: &Place) -> Result<()> {
    let Some(stream) = place else { return Ok(()) };
    stream.context().bind_to_thread().map_err(crate::error::doing("using the context"))
}

fn handle(place: &Place) -> Raw {
    place.as_ref().map_or(ptr::null_mut(), |stream| stream.cu_stream().cast())
}
