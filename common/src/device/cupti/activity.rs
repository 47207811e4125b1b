//! Records when each activity of a program began and ended, on the host and on the GPU.
//!
//! This file contains `unsafe` code, because CUPTI requests buffers and returns records through
//! callbacks.
#![expect(unsafe_code, reason = "CUPTI requests memory and returns records through callbacks")]

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

/// An activity with a start and an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The host thread or the stream where the activity ran.
    pub place: Place,
    /// The kind of the activity.
    pub kind: Kind,
    /// The name of the kernel or function, or the direction of the copy.
    pub name: Arc<str>,
    /// The start, in nanoseconds on CUPTI's clock, which the host and the GPU share.
    pub start: u64,
    /// The end, in nanoseconds on the same clock as the start.
    pub end: u64,
    /// The number of bytes that a copy or fill writes, the number of blocks of a kernel, or 0 for a
    /// call.
    pub amount: u64,
}

/// The place where an activity ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A host thread of this program, with the number that the operating system assigns to it.
    Host(u32),
    /// A GPU stream, with the number that CUPTI assigns to it.
    Stream(u32),
}

/// The kind of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call to a function of the driver.
    Call,
    /// The execution of a kernel.
    Kernel,
    /// A memory copy.
    Copy,
    /// A memory fill with one byte value.
    Fill,
}

/// A recording in progress.
#[derive(Debug)]
pub struct Recording {
    library: &'static Library,
}

/// The records so far. The store is never freed, because CUPTI's thread may call back after the
/// recording has ended.
static STORE: Mutex<Store> = Mutex::new(Store { events: Vec::new(), names: BTreeMap::new() });

/// CUPTI's function that iterates over the records in a buffer. It is set before the first buffer
/// is requested.
static NEXT: OnceLock<Next> = OnceLock::new();

type Next = unsafe extern "C" fn(*mut u8, usize, *mut *const u32) -> u32;

struct Store {
    events: Vec<Raw>,
    names: Names,
}

/// Kernel names, keyed by the address of CUPTI's string. CUPTI passes the same string for every
/// launch of a kernel.
type Names = BTreeMap<usize, Arc<str>>;

/// An event whose function may be identified only by a number.
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

/// The kinds that are recorded. CUPTI's other kind of kernel record, [`KERNEL`], serializes the
/// kernels: on an H200, a sum with three launches took 21 µs with `KERNEL`, 15.8 µs with
/// `CONCURRENT`, and 15.1 µs without recording.
const KINDS: [u32; 4] = [CONCURRENT, COPY, SET, DRIVER];

/// The size of a buffer and its alignment, in bytes.
const BUFFER: Layout = match Layout::from_size_align(1 << 20, 8) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

impl Recording {
    /// Starts a recording. Call this function before you open the GPU, so that the opening is
    /// recorded too.
    pub fn start() -> Result<Recording> {
        // Without a driver, the first call into some versions of CUPTI never returns.
        driver::start()?;
        Ok(Recording::with(Library::find()?)?)
    }

    pub(super) fn with(library: &'static Library) -> Result<Recording, Fault> {
        type Request = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
        type Complete = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
        // Discard the events of an earlier recording.
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

    /// Stops recording. Returns the events, ordered by time, and CUPTI's version. Fails if CUPTI
    /// dropped records.
    pub fn finish(self) -> Result<(Vec<Event>, String), Fault> {
        let library = self.library;
        let mut dropped = 0;
        // SAFETY: the functions have these signatures; CUPTI writes the number during the call.
        unsafe {
            let flush = "cuptiActivityFlushAll";
            // The flag 1 means that incomplete buffers are flushed too.
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
        // An enclosing activity comes before the activities that it encloses.
        events.sort_by_key(|event| (event.start, std::cmp::Reverse(event.end)));
        Ok((events, library.version()))
    }
}

/// Returns the driver's name for the function that has this number in a record.
fn function(library: &Library, id: u32) -> Arc<str> {
    type Get = unsafe extern "C" fn(u32, u32, *mut *const c_char) -> u32;
    const DOMAIN: u32 = 1;
    let mut name = std::ptr::null();
    // SAFETY: `cuptiGetCallbackName` writes a pointer to a string that the library owns.
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

/// Allocates a buffer that CUPTI requests through this callback.
extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    // SAFETY: CUPTI passes three pointers that are valid for writes. A null buffer tells CUPTI that
    // no buffer is available.
    unsafe {
        *buffer = alloc(BUFFER);
        *size = if (*buffer).is_null() { 0 } else { BUFFER.size() };
        *most = 0;
    }
}

/// Reads the records in a buffer that CUPTI returns through this callback, possibly on a thread
/// that CUPTI created. The callback must not unwind.
extern "C" fn complete(_: *mut c_void, _: u32, buffer: *mut u8, _: usize, valid: usize) {
    if buffer.is_null() {
        return;
    }
    let mut store = store();
    let mut record: *const u32 = std::ptr::null();
    while let Some(next) = NEXT.get()
        // SAFETY: the buffer holds `valid` bytes of records. After the first call, `record` is the
        // pointer that the previous call wrote.
        && unsafe { next(buffer, valid, &mut record) } == 0
    {
        // SAFETY: the record is complete, and begins with its kind.
        let raw = unsafe { read(record, &mut store.names) };
        store.events.extend(raw);
    }
    // SAFETY: `request` allocated this buffer, and CUPTI has released it.
    unsafe { dealloc(buffer, BUFFER) };
}

/// Converts a record to an event; `None` for a kind that was not requested.
///
/// # Safety
/// `record` must point to a complete record.
unsafe fn read(record: *const u32, names: &mut Names) -> Option<Raw> {
    // SAFETY: the caller promises a complete record, and every record begins with its kind.
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

/// Names the direction of a copy in the same way as nvprof.
fn copied(way: u8) -> &'static str {
    match way {
        1 => "[memcpy HtoD]",
        2 => "[memcpy DtoH]",
        8 => "[memcpy DtoD]",
        _ => "[memcpy]",
    }
}

/// Reads the string at an address.
///
/// # Safety
/// The pointer must be null, or point to a string that CUPTI owns.
unsafe fn text(name: *const c_char, names: &mut Names) -> Arc<str> {
    let text = || match name.is_null() {
        true => "a kernel".into(),
        // SAFETY: the caller promises that a pointer that is not null points to a string.
        false => unsafe { CStr::from_ptr(name) }.to_string_lossy().as_ref().into(),
    };
    names.entry(name as usize).or_insert_with(text).clone()
}
