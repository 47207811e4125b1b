//! When everything that a program asked of its GPU began and ended: on the host, and on the GPU.
//!
//! One of the files with `unsafe`: CUPTI hands over its records in memory that it asks for by callbacks.
#![expect(unsafe_code, reason = "CUPTI asks for memory, and returns records in it, by callbacks")]

use std::{
    alloc::{Layout, alloc, dealloc},
    collections::BTreeMap,
    ffi::{CStr, c_char, c_void},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use super::{
    fault::Fault,
    library::Library,
    records::{CONCURRENT, COPY, Call, Copied, DRIVER, Filled, KERNEL, Kernel, SET},
};
use crate::{Result, device::driver};

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Where.
    pub place: Place,
    /// Of what kind.
    pub kind: Kind,
    /// The kernel's or the function's name, or which way was copied.
    pub name: Arc<str>,
    /// Nanoseconds of CUPTI's clock, which is the same for both places.
    pub start: u64,
    /// As above.
    pub end: u64,
    /// Bytes, where some were moved; blocks, where a kernel ran.
    pub amount: u64,
}

/// Where something took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a thread of this program, by the system's number.
    Host(u32),
    /// On a stream of the GPU, by CUPTI's number.
    Stream(u32),
}

/// What took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call of the driver.
    Call,
    /// A kernel.
    Kernel,
    /// A copy.
    Copy,
    /// Memory that was filled with a byte.
    Fill,
}

/// A recording that goes on.
#[derive(Debug)]
pub struct Recording {
    library: &'static Library,
}

/// What was recorded so far. It lives as long as the program, for CUPTI's thread may come late.
static STORE: Mutex<Store> = Mutex::new(Store { events: Vec::new(), names: BTreeMap::new() });

/// CUPTI's function that walks through a buffer; set before the first buffer is asked for.
static NEXT: OnceLock<Next> = OnceLock::new();

type Next = unsafe extern "C" fn(*mut u8, usize, *mut *const u32) -> u32;

struct Store {
    events: Vec<Raw>,
    names: Names,
}

/// Names by the address at which CUPTI keeps them; the same kernel has the same.
type Names = BTreeMap<usize, Arc<str>>;

/// An event whose function is still a number.
struct Raw {
    place: Place,
    kind: Kind,
    name: Name,
    start: u64,
    end: u64,
    amount: u64,
}

enum Name {
    Known(Arc<str>),
    Function(u32),
}

/// What is recorded. The other kind of kernels, [`KERNEL`], makes each wait for the one before: on an
/// H200 a sum of three launches took 21 µs with it, 15.8 with this and 15.1 with none.
const KINDS: [u32; 4] = [CONCURRENT, COPY, SET, DRIVER];

/// Bytes of a buffer, and their alignment.
const BUFFER: Layout = match Layout::from_size_align(1 << 20, 8) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

impl Recording {
    /// Starts to record; before the GPU is opened, so that this is seen too.
    pub fn start() -> Result<Recording> {
        // Without a driver, some versions of CUPTI do not come back from their first call.
        driver::start()?;
        Ok(Recording::with(Library::find()?)?)
    }

    pub(super) fn with(library: &'static Library) -> Result<Recording, Fault> {
        type Request = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
        type Complete = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
        // What another recording left is not of this one.
        store().events.clear();
        // SAFETY: the functions have these signatures; the callbacks live as long as the program.
        unsafe {
            let next = library.function::<Next>("cuptiActivityGetNextRecord")?;
            let _ = NEXT.set(next);
            let register = "cuptiActivityRegisterCallbacks";
            let code = library
                .function::<unsafe extern "C" fn(Request, Complete) -> u32>(register)?(
                request, complete,
            );
            library.answered(register, code)?;
            for kind in KINDS {
                let enable = "cuptiActivityEnable";
                let code = library.function::<unsafe extern "C" fn(u32) -> u32>(enable)?(kind);
                library.answered(enable, code)?;
            }
        }
        Ok(Recording { library })
    }

    /// Stops, and gives what was recorded, by time, and CUPTI's version; refuses where something was
    /// dropped.
    pub fn finish(self) -> Result<(Vec<Event>, String), Fault> {
        let library = self.library;
        let mut dropped = 0;
        // SAFETY: the functions have these signatures; the number is written in the call.
        unsafe {
            let flush = "cuptiActivityFlushAll";
            // 1: also what is not complete.
            let code = library.function::<unsafe extern "C" fn(u32) -> u32>(flush)?(1);
            library.answered(flush, code)?;
            for kind in KINDS {
                let disable = "cuptiActivityDisable";
                let code = library.function::<unsafe extern "C" fn(u32) -> u32>(disable)?(kind);
                library.answered(disable, code)?;
            }
            let count = "cuptiActivityGetNumDroppedRecords";
            type Count = unsafe extern "C" fn(*mut c_void, u32, *mut usize) -> u32;
            let code = library.function::<Count>(count)?(std::ptr::null_mut(), 0, &mut dropped);
            library.answered(count, code)?;
        }
        if dropped > 0 {
            return Err(Fault::Dropped { dropped });
        }
        let raw = std::mem::take(&mut store().events);
        let mut functions = BTreeMap::new();
        let named = |raw: Raw| {
            let name = match raw.name {
                Name::Known(name) => name,
                Name::Function(id) => {
                    functions.entry(id).or_insert_with(|| function(library, id)).clone()
                }
            };
            let Raw { place, kind, start, end, amount, .. } = raw;
            Event { place, kind, name, start, end, amount }
        };
        let mut events: Vec<Event> = raw.into_iter().map(named).collect();
        // What holds others comes before them.
        events.sort_by_key(|event| (event.start, std::cmp::Reverse(event.end)));
        Ok((events, library.version()))
    }
}

/// The driver's name for a function that a record has by number.
fn function(library: &Library, id: u32) -> Arc<str> {
    type Get = unsafe extern "C" fn(u32, u32, *mut *const c_char) -> u32;
    const DOMAIN: u32 = 1;
    let mut name = std::ptr::null();
    // SAFETY: `cuptiGetCallbackName` writes a pointer to a text of the library's own.
    unsafe {
        match library.function::<Get>("cuptiGetCallbackName").map(|get| get(DOMAIN, id, &mut name))
        {
            Ok(0) if !name.is_null() => CStr::from_ptr(name).to_string_lossy().as_ref().into(),
            _ => format!("function {id}").into(),
        }
    }
}

fn store() -> std::sync::MutexGuard<'static, Store> {
    STORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// CUPTI asks for a buffer.
extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    // SAFETY: CUPTI hands over three places to write to; memory that is not there is a null pointer,
    // which it takes for a refusal.
    unsafe {
        *buffer = alloc(BUFFER);
        *size = if (*buffer).is_null() { 0 } else { BUFFER.size() };
        *most = 0;
    }
}

/// CUPTI returns a buffer, perhaps in a thread of its own. Nothing here unwinds.
extern "C" fn complete(_: *mut c_void, _: u32, buffer: *mut u8, _: usize, valid: usize) {
    if buffer.is_null() {
        return;
    }
    let mut store = store();
    let mut record: *const u32 = std::ptr::null();
    while let Some(next) = NEXT.get()
        // SAFETY: the buffer holds so many valid bytes; from the first call on, `record` is what the
        // call before has written.
        && unsafe { next(buffer, valid, &mut record) } == 0
    {
        // SAFETY: a record of that kind is there, and begins with these fields.
        let raw = unsafe { read(record, &mut store.names) };
        store.events.extend(raw);
    }
    // SAFETY: this buffer is one that `request` allocated, and CUPTI is done with it.
    unsafe { dealloc(buffer, BUFFER) };
}

/// A record as an event; none where it is of a kind that was not asked for.
///
/// # Safety
/// The pointer is to a whole record.
unsafe fn read(record: *const u32, names: &mut Names) -> Option<Raw> {
    // SAFETY: promised by the caller; a record begins with its kind.
    unsafe {
        Some(match record.read_unaligned() {
            KERNEL | CONCURRENT => {
                let Kernel { start, end, stream, grid, name, .. } =
                    record.cast::<Kernel>().read_unaligned();
                Raw {
                    place: Place::Stream(stream),
                    kind: Kind::Kernel,
                    name: Name::Known(text(name, names)),
                    start,
                    end,
                    amount: grid.iter().map(|&blocks| u64::from(blocks.unsigned_abs())).product(),
                }
            }
            COPY => {
                let Copied { way, bytes, start, end, stream, .. } =
                    record.cast::<Copied>().read_unaligned();
                let name = Name::Known(copied(way).into());
                let (place, kind) = (Place::Stream(stream), Kind::Copy);
                Raw { place, kind, name, start, end, amount: bytes }
            }
            SET => {
                let Filled { bytes, start, end, stream, .. } =
                    record.cast::<Filled>().read_unaligned();
                let name = Name::Known("[memset]".into());
                let (place, kind) = (Place::Stream(stream), Kind::Fill);
                Raw { place, kind, name, start, end, amount: bytes }
            }
            DRIVER => {
                let Call { function, start, end, thread, .. } =
                    record.cast::<Call>().read_unaligned();
                let (place, name) = (Place::Host(thread), Name::Function(function));
                Raw { place, kind: Kind::Call, name, start, end, amount: 0 }
            }
            _ => return None,
        })
    }
}

/// Which way was copied, as nvprof has it.
fn copied(way: u8) -> &'static str {
    match way {
        1 => "[memcpy HtoD]",
        2 => "[memcpy DtoH]",
        8 => "[memcpy DtoD]",
        _ => "[memcpy]",
    }
}

/// The text at an address.
///
/// # Safety
/// It is null, or a text that CUPTI keeps.
unsafe fn text(name: *const c_char, names: &mut Names) -> Arc<str> {
    let text = || match name.is_null() {
        true => "a kernel".into(),
        // SAFETY: promised by the caller.
        false => unsafe { CStr::from_ptr(name) }.to_string_lossy().as_ref().into(),
    };
    names.entry(name as usize).or_insert_with(text).clone()
}
