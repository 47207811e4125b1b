//! NCCL's communicators, with which ranks join a group and queue operations.
//!
//! This file contains `unsafe` code. Calls that need another rank do not block the host, which
//! polls their state until a deadline or until a rank is lost. A non-blocking communicator creates
//! a thread for each group of calls, which costs about 50 µs. Collectives therefore use a second
//! communicator, which is split off from the first and may block. The calls of the second
//! communicator never wait for other ranks, because all ranks are connected when they have joined.
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

use super::{
    Config, FLOAT32, Id, Nccl, OLDEST, REMOTE, Raw, SUCCESS, SUM, UINT8, UINT32, UINT64, UNSET,
};
use crate::{Error, Result};

/// A function that is called repeatedly during a wait. An error ends the wait.
pub type Alive<'a> = &'a dyn Fn() -> Result<()>;

/// The stream of a rank, or `None` in a test that loads a library without a GPU.
pub type Place = Option<Arc<CudaStream>>;

/// The communicators of one rank, with its stream.
pub struct Comm {
    nccl: Nccl,
    rank: u32,
    /// The non-blocking communicator, for joining and for transfers that may first have to connect
    /// two ranks.
    raw: Raw,
    /// The communicator for collectives, which queues operations without waiting for other ranks.
    /// If there is no second communicator, this field is equal to `raw`.
    ready: Raw,
    stream: Place,
    broken: bool,
}

/// The environment variable that selects whether NCCL connects ranks when they join (0) or at their
/// first exchange.
const CONNECT: &str = "NCCL_RUNTIME_CONNECT";

/// The first version of NCCL that reads this variable. Older versions connect ranks when they join.
const CONNECTS_LATE: u32 = 22_200;

/// Makes NCCL connect ranks when they join, which makes queueing a sum about 50 µs faster. Call
/// this function at the start of a program. The function does nothing if the environment variable
/// is already set, or if other threads are running, because they may read the environment.
pub fn connect_early() {
    let alone = std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    if alone && env::var_os(CONNECT).is_none() {
        // SAFETY: this is the only thread, so nothing else reads or writes the environment.
        unsafe { env::set_var(CONNECT, "0") };
    }
}

/// Returns the configuration of a blocking or non-blocking communicator.
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

// SAFETY: any thread may use an NCCL communicator, but only one thread at a time; this type is not
// `Sync`.
unsafe impl Send for Comm {}

impl std::fmt::Debug for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a communicator of {:?}", self.nccl)
    }
}

impl Comm {
    /// Joins the ranks in this process, each with its stream, to the `world` ranks that share `id`.
    /// Returns the communicators of the ranks.
    pub fn join(
        nccl: &Nccl,
        id: &[u8],
        world: u32,
        ranks: &[(u32, Place)],
        timeout: Duration,
        alive: Alive<'_>,
    ) -> Result<Vec<Comm>> {
        let id: [u8; 128] = id.try_into().map_err(|_| {
            Error::Nccl(format!("NCCL's id has 128 bytes, but rank 0 sent {}", id.len()))
        })?;
        let mut comms = Vec::new();
        // NCCL keeps pointers to these elements, and writes to them when a communicator is ready.
        let mut raws = vec![ptr::null_mut(); ranks.len()];
        // SAFETY: the group is ended below on every path.
        unsafe { (nccl.functions.group_start)() };
        let mut begun = Ok(());
        for ((rank, stream), raw) in ranks.iter().zip(&mut raws) {
            begun = bind(stream);
            if begun.is_err() {
                break;
            }
            // SAFETY: the context of the rank's GPU is current, and NCCL copies the configuration.
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
        // SAFETY: the group was begun above.
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

    /// Returns whether no operation of the communicator is in progress. If an operation has failed,
    /// returns an error.
    fn state(&self, kind: Kind) -> Result<bool> {
        let (raw, mut code) = (self.of(kind), SUCCESS);
        // SAFETY: the communicator is live, and the pointer is valid for the result.
        let asked = unsafe { (self.nccl.functions.async_error)(raw, &mut code) };
        self.nccl.check("reading NCCL's state", asked, raw)?;
        if code == REMOTE {
            return Err(Error::Nccl("NCCL reports that another rank is lost".into()));
        }
        self.nccl.check("an operation of NCCL", code, raw)?;
        Ok(code == SUCCESS)
    }

    /// Fails if the communicator was aborted or has an error.
    pub fn check(&self) -> Result<()> {
        if self.broken {
            return Err(Error::Nccl("NCCL's communicator was aborted: join again".into()));
        }
        self.state(Kind::Raw)?;
        self.state(Kind::Ready).map(drop)
    }

    /// Aborts running operations, including kernels that wait for a lost rank.
    pub fn abort(&mut self) {
        if !std::mem::replace(&mut self.broken, true) {
            let _ = bind(&self.stream);
            if self.ready != self.raw {
                // SAFETY: the communicator is live, and is not used again.
                unsafe { (self.nccl.functions.abort)(self.ready) };
            }
            // SAFETY: as above.
            unsafe { (self.nccl.functions.abort)(self.raw) };
        }
    }

    /// Copies `each` bytes from every rank to every rank. This rank's bytes are already in `row`.
    ///
    /// # Safety
    /// `row` must point to `world * each` bytes on the device until the stream has passed this
    /// point.
    pub(crate) unsafe fn all_gather(&self, row: u64, each: u64, rank: u32) -> Result<()> {
        let own = (row + u64::from(rank) * each) as *const c_void;
        let (row, stream) = (row as *mut c_void, handle(&self.stream));
        // SAFETY: guaranteed by the caller.
        let code = unsafe {
            (self.nccl.functions.all_gather)(own, row, each as usize, UINT8, self.ready, stream)
        };
        self.nccl.check("gathering", code, self.ready)
    }

    /// Adds the 32-bit words of all ranks in place, as integers or floats.
    ///
    /// # Safety
    /// `words` must point to `count` words on the device until the stream has passed this point.
    pub(crate) unsafe fn all_reduce(&self, words: u64, count: u64, float: bool) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.sum(words, count, if float { FLOAT32 } else { UINT32 }) }
    }

    /// Sums the 64-bit words of all ranks in place, as integers.
    ///
    /// # Safety
    /// The requirement is that of [`all_reduce`](Comm::all_reduce).
    pub(crate) unsafe fn add_words(&self, words: u64, count: u64) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.sum(words, count, UINT64) }
    }

    unsafe fn sum(&self, words: u64, count: u64, kind: c_int) -> Result<()> {
        let (at, stream) = (words as *mut c_void, handle(&self.stream));
        // SAFETY: guaranteed by the caller.
        let code = unsafe {
            (self.nccl.functions.all_reduce)(at, at, count as usize, kind, SUM, self.ready, stream)
        };
        self.nccl.check("adding over all ranks", code, self.ready)
    }

    /// Sends bytes to a rank.
    ///
    /// # Safety
    /// `from` must point to `bytes` bytes on the device until the stream has passed this point.
    pub(crate) unsafe fn send(&self, from: u64, bytes: u64, to: u32) -> Result<()> {
        let (from, stream) = (from as *const c_void, handle(&self.stream));
        // SAFETY: guaranteed by the caller.
        let code = unsafe {
            (self.nccl.functions.send)(from, bytes as usize, UINT8, to as c_int, self.raw, stream)
        };
        self.nccl.check("sending", code, self.raw)
    }

    /// Receives bytes from a rank.
    ///
    /// # Safety
    /// `to` must have room for `bytes` bytes on the device until the stream has passed this point.
    pub(crate) unsafe fn receive(&self, to: u64, bytes: u64, from: u32) -> Result<()> {
        let (to, stream) = (to as *mut c_void, handle(&self.stream));
        // SAFETY: guaranteed by the caller.
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

    /// Leaves the group, and waits up to two seconds until the other ranks leave too.
    fn leave(&mut self) -> Result<()> {
        bind(&self.stream)?;
        if self.ready != self.raw {
            // SAFETY: the communicator is live and not used again, and callers have waited for its
            // operations.
            let code = unsafe { (self.nccl.functions.destroy)(self.ready) };
            self.ready = self.raw;
            self.nccl.check("leaving the other ranks", code, ptr::null_mut())?;
        }
        // SAFETY: the communicator is live.
        let code = unsafe { (self.nccl.functions.finalize)(self.raw) };
        self.nccl.check("leaving the other ranks", code, self.raw)?;
        let deadline = Instant::now() + Duration::from_secs(2);
        while !self.state(Kind::Raw)? {
            if Instant::now() >= deadline {
                return Err(Error::Nccl("the other ranks did not leave within two seconds".into()));
            }
            thread::sleep(Duration::from_micros(200));
        }
        // SAFETY: the communicator has been finalized, and is not used again.
        let code = unsafe { (self.nccl.functions.destroy)(self.raw) };
        self.broken = true;
        self.nccl.check("leaving the other ranks", code, ptr::null_mut())
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        if !self.broken && self.leave().is_err() {
            self.abort();
        }
    }
}

/// Descriptions of operations, for error messages.
const JOINING: &str = "joining the other ranks";
const QUEUEING: &str = "queueing an exchange between ranks";

/// One of a rank's two communicators: the non-blocking one, or the one for collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Raw,
    Ready,
}

/// Splits off blocking communicators, for collectives, from the communicators that have joined.
fn split(nccl: &Nccl, comms: &mut [Comm], deadline: Instant, alive: Alive<'_>) -> Result<()> {
    let mut all = vec![ptr::null_mut(); comms.len()];
    // SAFETY: the group is ended below on every path.
    unsafe { (nccl.functions.group_start)() };
    let mut begun = Ok(());
    for (comm, ready) in comms.iter().zip(&mut all) {
        begun = bind(&comm.stream).and_then(|()| {
            // SAFETY: the communicator is live, and `all` keeps the pointer valid until the result
            // is written or the communicator is aborted.
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
    // SAFETY: the group was begun above.
    let code = unsafe { (nccl.functions.group_end)() };
    let ended = nccl.check(JOINING, code, ptr::null_mut());
    let done = begun.and(ended).and_then(|()| settle(JOINING, comms, Kind::Raw, deadline, alive));
    if done.is_err() {
        // The communicators are aborted before `all` is dropped, because NCCL may still hold
        // pointers into it.
        comms.iter_mut().for_each(Comm::abort);
    }
    for (comm, ready) in comms.iter_mut().zip(all).filter(|(_, ready)| !ready.is_null()) {
        comm.ready = ready;
    }
    done
}

/// Groups the calls of several ranks in this process, and waits until the calls are queued.
pub(crate) fn grouped(
    comms: &mut [Comm],
    kind: Kind,
    timeout: Duration,
    alive: Alive<'_>,
    work: impl FnOnce(&[Comm]) -> Result<()>,
) -> Result<()> {
    let Some(nccl) = comms.first().map(|comm| comm.nccl.clone()) else { return Ok(()) };
    // SAFETY: the group is ended below on every path.
    unsafe { (nccl.functions.group_start)() };
    let worked = work(comms);
    // SAFETY: the group was begun above.
    let code = unsafe { (nccl.functions.group_end)() };
    let ended = nccl.check(QUEUEING, code, comms[0].of(kind));
    let deadline = Instant::now() + timeout;
    let done = worked.and(ended).and_then(|()| settle(QUEUEING, comms, kind, deadline, alive));
    if done.is_err() {
        comms.iter_mut().for_each(Comm::abort);
    }
    done
}

/// Waits until no communicator has an operation in progress.
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
                    "{doing}: NCCL was not ready within {waited:.0} s; the operation was aborted"
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

/// Makes the context of the stream current, as NCCL requires.
fn bind(place: &Place) -> Result<()> {
    let Some(stream) = place else { return Ok(()) };
    stream.context().bind_to_thread().map_err(crate::error::doing("using the context"))
}

fn handle(place: &Place) -> Raw {
    place.as_ref().map_or(ptr::null_mut(), |stream| stream.cu_stream().cast())
}
