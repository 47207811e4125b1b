//! NCCL, found at run time and called through fifteen of its C functions.
//!
//! One of the files with `unsafe`. A communicator never blocks: whatever takes its time is asked for its
//! state, until a deadline, or until someone else has gone.
#![expect(unsafe_code, reason = "NCCL is loaded at run time, and called through its C functions")]

mod places;

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::{Path, PathBuf},
    ptr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::CudaStream;
use libloading::Library;

pub use places::{places, version};

use crate::{Error, Result};

/// The first version whose communicators need not block, and have what is called here.
pub const OLDEST: u32 = 21_800;

/// What hands a communicator's ranks to each other.
#[repr(C)]
#[derive(Clone, Copy)]
struct Id([u8; 128]);

/// `ncclConfig_t` as of 2.18: newer libraries take what it lacks as not given.
#[repr(C)]
struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
    cga_cluster_size: c_int,
    min_ctas: c_int,
    max_ctas: c_int,
    net_name: *const c_char,
    split_share: c_int,
}

/// What `NCCL_CONFIG_UNDEF_INT` is.
const UNSET: c_int = c_int::MIN;

type Raw = *mut c_void;
type Code = c_int;

const SUCCESS: Code = 0;
const REMOTE: Code = 6;
const IN_PROGRESS: Code = 7;
/// Types and operations of NCCL: bytes travel as they are, words are added.
const UINT8: c_int = 1;
const UINT32: c_int = 3;
const FLOAT32: c_int = 7;
const SUM: c_int = 0;

macro_rules! functions {
    ($($field:ident $symbol:literal ($($argument:ty),*) -> $result:ty;)+) => {
        /// The functions that are called, and the library that they live in.
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) -> $result,)+
            _library: Library,
        }

        /// Looks all of them up, or says which one is not there.
        fn look_up(library: Library) -> Result<Functions, &'static str> {
            Ok(Functions {
                $($field: {
                    let name = concat!($symbol, "\0").as_bytes();
                    // SAFETY: the type is that of NCCL's header, and the library is kept beside it.
                    *unsafe { library.get(name) }.map_err(|_| $symbol)?
                },)+
                _library: library,
            })
        }
    };
}
functions! {
    get_unique_id "ncclGetUniqueId" (*mut Id) -> Code;
    error_string "ncclGetErrorString" (Code) -> *const c_char;
    last_error "ncclGetLastError" (Raw) -> *const c_char;
    init "ncclCommInitRankConfig" (*mut Raw, c_int, Id, c_int, *mut Config) -> Code;
    async_error "ncclCommGetAsyncError" (Raw, *mut Code) -> Code;
    finalize "ncclCommFinalize" (Raw) -> Code;
    destroy "ncclCommDestroy" (Raw) -> Code;
    abort "ncclCommAbort" (Raw) -> Code;
    group_start "ncclGroupStart" () -> Code;
    group_end "ncclGroupEnd" () -> Code;
    all_gather "ncclAllGather" (*const c_void, *mut c_void, usize, c_int, Raw, Raw) -> Code;
    all_reduce "ncclAllReduce" (*const c_void, *mut c_void, usize, c_int, c_int, Raw, Raw) -> Code;
    send "ncclSend" (*const c_void, usize, c_int, c_int, Raw, Raw) -> Code;
    receive "ncclRecv" (*mut c_void, usize, c_int, c_int, Raw, Raw) -> Code;
}

/// NCCL.
#[derive(Clone)]
pub struct Nccl {
    functions: Arc<Functions>,
    path: PathBuf,
    version: u32,
}

impl std::fmt::Debug for Nccl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NCCL {} ({})", version(self.version), self.path.display())
    }
}

impl Nccl {
    /// The library at this path, or wherever it is found.
    pub fn find(named: Option<&Path>) -> Result<Nccl> {
        if let Some(path) = named {
            return Nccl::open(path);
        }
        let places = places();
        for path in &places {
            if !path.has_root() || path.exists() {
                match Nccl::open(path) {
                    Err(Error::Nccl(why)) if why.starts_with("NCCL was not found") => {}
                    other => return other,
                }
            }
        }
        let all: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        Err(Error::Nccl(format!(
            "NCCL was not found: looked for {}; `cargo x nccl` brings it, or name it with --nccl",
            all.join(", ")
        )))
    }

    fn open(path: &Path) -> Result<Nccl> {
        let place = path.display();
        // SAFETY: NCCL's initialisers ask nothing of us.
        let library = unsafe { Library::new(path) }.map_err(|error| {
            Error::Nccl(format!(
                "NCCL was not found at {place} ({error}); `cargo x nccl` brings it, or name another with --nccl"
            ))
        })?;
        // Before anything that an old one lacks.
        let mut code = 0;
        {
            type Version = unsafe extern "C" fn(*mut c_int) -> Code;
            // SAFETY: the type is that of NCCL's header; the answer has a place.
            let asked = unsafe {
                library.get::<Version>(b"ncclGetVersion\0").map(|version| version(&mut code))
            };
            if asked.is_err() {
                return Err(Error::Nccl(format!(
                    "{place} has no ncclGetVersion: it is not NCCL; name it with --nccl"
                )));
            }
        }
        let code = code.max(0) as u32;
        if code < OLDEST {
            return Err(Error::Nccl(format!(
                "{place} is NCCL {}, and {} or newer is needed: `cargo x nccl` brings one, or name it with --nccl",
                version(code),
                version(OLDEST)
            )));
        }
        let functions = look_up(library).map_err(|symbol| {
            Error::Nccl(format!(
                "{place} says that it is NCCL {} and has no {symbol}: name a whole one with --nccl",
                version(code)
            ))
        })?;
        Ok(Nccl { functions: Arc::new(functions), path: path.to_owned(), version: code })
    }

    /// As NCCL counts it.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// What all ranks of a new communicator need.
    pub fn id(&self) -> Result<Vec<u8>> {
        let mut id = Id([0; 128]);
        // SAFETY: the answer has a place.
        let code = unsafe { (self.functions.get_unique_id)(&mut id) };
        self.check("making NCCL's id", code, ptr::null_mut())?;
        Ok(id.0.to_vec())
    }

    fn check(&self, doing: &str, code: Code, comm: Raw) -> Result<()> {
        if code == SUCCESS || code == IN_PROGRESS {
            return Ok(());
        }
        // NCCL's texts live as long as its library.
        let text = |text: *const c_char| match text.is_null() {
            true => String::new(),
            false => {
                // SAFETY: it is no null pointer, and ends with a zero.
                unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned()
            }
        };
        // SAFETY: any code has a text.
        let name = text(unsafe { (self.functions.error_string)(code) });
        // SAFETY: the last error of a communicator, or of this thread.
        let last = text(unsafe { (self.functions.last_error)(comm) });
        let last = if last.is_empty() { last } else { format!(": {last}") };
        Err(Error::Nccl(format!("{doing}: NCCL says {name:?}{last}")))
    }
}

/// Who is asked whether to wait on: an error ends the waiting.
pub type Alive<'a> = &'a dyn Fn() -> Result<()>;

/// A rank's stream; nothing where a library is tried that has no GPU.
pub type Place = Option<Arc<CudaStream>>;

/// One rank's communicator, on a stream.
pub struct Comm {
    nccl: Nccl,
    raw: Raw,
    stream: Place,
    broken: bool,
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
        // SAFETY: a group is begun, and ended below on every path.
        unsafe { (nccl.functions.group_start)() };
        let mut begun = Ok(());
        for (rank, stream) in ranks {
            begun = bind(stream);
            if begun.is_err() {
                break;
            }
            let mut config = Config {
                size: size_of::<Config>(),
                magic: 0xcafe_beef,
                version: OLDEST,
                blocking: 0,
                cga_cluster_size: UNSET,
                min_ctas: UNSET,
                max_ctas: UNSET,
                net_name: ptr::null(),
                split_share: UNSET,
            };
            let mut raw = ptr::null_mut();
            // SAFETY: the context of the rank's GPU is current; the configuration is copied.
            let code = unsafe {
                let (world, rank) = (world as c_int, *rank as c_int);
                (nccl.functions.init)(&mut raw, world, Id(id), rank, &mut config)
            };
            comms.push(Comm {
                nccl: nccl.clone(),
                raw,
                stream: stream.clone(),
                broken: raw.is_null(),
            });
            begun = nccl.check("joining the other ranks", code, ptr::null_mut());
            if begun.is_err() {
                break;
            }
        }
        // SAFETY: begun above.
        let code = unsafe { (nccl.functions.group_end)() };
        let ended = nccl.check("joining the other ranks", code, ptr::null_mut());
        let joined = begun.and(ended).and_then(|()| {
            settle("joining the other ranks", &mut comms, Instant::now() + timeout, alive)
        });
        if joined.is_err() {
            comms.iter_mut().for_each(Comm::abort);
        }
        joined.map(|()| comms)
    }

    /// NCCL's name for its state: whether what was asked for is under way yet.
    fn state(&self) -> Result<bool> {
        let mut code = SUCCESS;
        // SAFETY: the communicator lives, and the answer has a place.
        let asked = unsafe { (self.nccl.functions.async_error)(self.raw, &mut code) };
        self.nccl.check("asking NCCL", asked, self.raw)?;
        if code == REMOTE {
            return Err(Error::Nccl("NCCL says that another rank is gone".into()));
        }
        self.nccl.check("NCCL's own work", code, self.raw)?;
        Ok(code == SUCCESS)
    }

    /// Whether all is well.
    pub fn check(&self) -> Result<()> {
        if self.broken {
            return Err(Error::Nccl("NCCL's communicator was aborted: join again".into()));
        }
        self.state().map(drop)
    }

    /// Ends what runs, on the GPU too: kernels that wait for a rank that is gone.
    pub fn abort(&mut self) {
        if !std::mem::replace(&mut self.broken, true) {
            let _ = bind(&self.stream);
            // SAFETY: the communicator lives, and is not used again.
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
            (self.nccl.functions.all_gather)(own, row, each as usize, UINT8, self.raw, stream)
        };
        self.nccl.check("gathering", code, self.raw)
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
            (self.nccl.functions.all_reduce)(at, at, count as usize, kind, SUM, self.raw, stream)
        };
        self.nccl.check("adding what ranks have", code, self.raw)
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
        // SAFETY: the communicator lives.
        let code = unsafe { (self.nccl.functions.finalize)(self.raw) };
        self.nccl.check("taking leave", code, self.raw)?;
        let deadline = Instant::now() + Duration::from_secs(2);
        while !self.state()? {
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

/// Does the collectives of several ranks of this process as one, and waits until they are queued.
pub(crate) fn grouped(
    comms: &mut [Comm],
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
    let ended = nccl.check("queueing what ranks exchange", code, comms[0].raw);
    let done = worked.and(ended).and_then(|()| {
        settle("queueing what ranks exchange", comms, Instant::now() + timeout, alive)
    });
    if done.is_err() {
        comms.iter_mut().for_each(Comm::abort);
    }
    done
}

/// Waits until no communicator is at work.
fn settle(doing: &str, comms: &mut [Comm], deadline: Instant, alive: Alive<'_>) -> Result<()> {
    let started = Instant::now();
    let mut looks = 0u32;
    for comm in comms.iter() {
        while !comm.state()? {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_has_a_sentence() {
        let error = Nccl::find(Some(Path::new("/nowhere/libnccl.so.2"))).unwrap_err().to_string();
        assert!(error.starts_with("NCCL was not found at /nowhere/libnccl.so.2"), "{error}");
        assert!(
            error.ends_with("`cargo x nccl` brings it, or name another with --nccl"),
            "{error}"
        );
    }
}
