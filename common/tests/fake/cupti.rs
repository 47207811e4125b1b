//! A fake CUPTI that needs no GPU and fails on demand. Tests load this library instead of NVIDIA's.
//!
//! The library writes at the offsets that the C compiler finds in NVIDIA's headers, and refuses
//! structures of other sizes, so it checks `structs.rs` and `records.rs` against the headers. The
//! fake's settings come from `fake_says` or the variable `FAKE_CUPTI`. The settings have the form
//! `cuptiRangeProfilerStart=35 nan=3`, and give the results of functions and named figures.
#![expect(unsafe_code, reason = "a C library, in Rust")]

use std::{
    ffi::{CStr, c_char, c_void},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed},
    },
};

static SAID: Mutex<Option<String>> = Mutex::new(None);
static OPEN: AtomicI32 = AtomicI32::new(0);
static LAUNCHES: AtomicUsize = AtomicUsize::new(0);
static CALLBACKS: Mutex<Option<(Request, Complete)>> = Mutex::new(None);

type Request = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Complete = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// Returns a figure that the test has set; `None` if the test has not set it.
fn said(name: &str) -> Option<u32> {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let said = said.or_else(|| std::env::var("FAKE_CUPTI").ok())?;
    let pairs = said.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse().ok())
}

/// Replaces the settings, which include the faults.
///
/// # Safety
/// `text` must be a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_says(text: *const c_char) {
    // SAFETY: the caller promises a C string.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    *SAID.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
}

/// Returns the number of objects that were opened but not closed.
#[unsafe(no_mangle)]
pub extern "C" fn fake_open() -> i32 {
    OPEN.load(Relaxed)
}

/// An argument structure that belongs to the caller.
struct Params(*mut u8);

impl Params {
    fn get<T: Copy>(&self, at: usize) -> T {
        // SAFETY: the offset is inside the structure, as NVIDIA's headers define it.
        unsafe { self.0.add(at).cast::<T>().read_unaligned() }
    }

    fn put<T>(&self, at: usize, value: T) {
        // SAFETY: as above.
        unsafe { self.0.add(at).cast::<T>().write_unaligned(value) }
    }
}

/// Defines functions that accept a structure. Each definition gives the size of the structure and
/// the effect of the call.
macro_rules! functions {
    ($($name:ident $size:literal $work:expr;)*) => {$(
        /// A replacement for NVIDIA's function with this name.
        ///
        /// # Safety
        /// The caller must meet the conditions in NVIDIA's header.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(params: *mut u8) -> u32 {
            let params = Params(params);
            match said(stringify!($name)) {
                Some(code) if code > 0 => return code,
                _ if params.get::<usize>(0) != $size => return 10,
                _ => {}
            }
            let work: fn(&Params) = $work;
            work(&params);
            0
        }
    )*};
}

functions! {
    cuptiProfilerInitialize 16 |_| ();
    cuptiProfilerDeviceSupported 52 |p| {
        for (index, level) in ["all", "architecture", "sli", "vgpu", "confidential"].iter().enumerate() {
            p.put(20 + 4 * index, said(level).unwrap_or(3));
        }
    };
    cuptiDeviceGetChipName 32 |p| p.put(24, c"GH100".as_ptr());
    cuptiProfilerGetCounterAvailability 40 |p| match p.get::<*mut u8>(32) {
        image if image.is_null() => p.put(24, 16usize),
        // SAFETY: the image has the size that the first call returned.
        image => unsafe { image.write_bytes(7, p.get::<usize>(24)) },
    };
    cuptiProfilerHostInitialize 48 |p| {
        // SAFETY: the two functions above wrote these pointers.
        let (chip, image) = unsafe {
            (CStr::from_ptr(p.get::<*const c_char>(24)), *p.get::<*const u8>(32))
        };
        assert!(chip == c"GH100" && image == 7);
        OPEN.fetch_add(1, Relaxed);
        p.put(40, 0x1000usize);
    };
    cuptiProfilerHostDeinitialize 24 |p| {
        assert_eq!(p.get::<usize>(16), 0x1000);
        OPEN.fetch_sub(1, Relaxed);
    };
    cuptiProfilerHostConfigAddMetrics 40 |p| {
        // SAFETY: the pointer and the length describe an array of pointers to strings.
        let last = unsafe { CStr::from_ptr(*p.get::<*const *const c_char>(24).add(p.get::<usize>(32) - 1)) };
        assert_eq!((p.get::<usize>(16), last), (0x1000, c"smsp__inst_executed.sum"));
    };
    cuptiProfilerHostGetConfigImageSize 32 |p| {
        assert_eq!(p.get::<usize>(16), 0x1000);
        p.put(24, 32usize);
    };
    cuptiProfilerHostGetConfigImage 40 |p| {
        assert_eq!(p.get::<usize>(16), 0x1000);
        // SAFETY: the image has the size that the function above returned.
        unsafe { p.get::<*mut u8>(32).write_bytes(9, p.get::<usize>(24)) }
    };
    cuptiProfilerHostGetNumOfPasses 40 |p| {
        // SAFETY: the function above wrote the pointer to this image.
        assert_eq!((p.get::<usize>(16), unsafe { *p.get::<*const u8>(24) }), (32, 9));
        p.put(32, 4usize);
    };
    cuptiRangeProfilerEnable 32 |p| {
        OPEN.fetch_add(1, Relaxed);
        p.put(24, 0x2000usize);
    };
    cuptiRangeProfilerDisable 24 |p| {
        assert_eq!(p.get::<usize>(16), 0x2000);
        OPEN.fetch_sub(1, Relaxed);
    };
    cuptiRangeProfilerGetCounterDataSize 64 |p| {
        LAUNCHES.store(p.get(40), Relaxed);
        assert_eq!(p.get::<usize>(40) as u32, p.get::<u32>(48));
        p.put(56, 64usize);
    };
    cuptiRangeProfilerCounterDataImageInitialize 40 |p| {
        assert_eq!((p.get::<usize>(16), p.get::<usize>(24)), (0x2000, 64));
        // SAFETY: the image has the size that the function above returned.
        unsafe { p.get::<*mut u8>(32).write_bytes(5, 64) }
    };
    cuptiRangeProfilerSetConfig 90 |p| {
        // SAFETY: the functions above wrote the pointers to these images.
        let images = unsafe { (*p.get::<*const u8>(32), *p.get::<*const u8>(48)) };
        assert_eq!((p.get::<usize>(16), images), (0x2000, (9, 5)));
        assert_eq!((p.get::<u32>(56), p.get::<u32>(60)), (1, 2));
        assert_eq!((p.get::<u16>(72), p.get::<u16>(74), p.get::<u16>(88)), (1, 1, 1));
    };
    cuptiRangeProfilerStart 24 |p| assert_eq!(p.get::<usize>(16), 0x2000);
    cuptiRangeProfilerStop 41 |p| {
        assert_eq!(p.get::<usize>(16), 0x2000);
        p.put(40, said("unsubmitted").is_none() as u8);
    };
    cuptiRangeProfilerDecodeData 32 |p| {
        assert_eq!(p.get::<usize>(16), 0x2000);
        p.put(24, said("dropped").unwrap_or(0) as usize);
    };
    cuptiRangeProfilerGetCounterDataInfo 40 |p| {
        // SAFETY: the image is initialized.
        assert_eq!((unsafe { *p.get::<*const u8>(16) }, p.get::<usize>(24)), (5, 64));
        p.put(32, said("ranges").map_or(LAUNCHES.load(Relaxed), |ranges| ranges as usize));
    };
    cuptiProfilerHostEvaluateToGpuValues 72 |p| {
        // SAFETY: the image is initialized; the pointer and the length describe an array of
        // pointers to strings.
        let (image, last) = unsafe {
            let names = p.get::<*const *const c_char>(48);
            (*p.get::<*const u8>(24), CStr::from_ptr(*names.add(p.get::<usize>(56) - 1)))
        };
        assert_eq!((p.get::<usize>(16), image, p.get::<usize>(32)), (0x1000, 5, 64));
        assert_eq!(last, c"smsp__inst_executed.sum");
        let (range, values) = (p.get::<usize>(40), p.get::<*mut f64>(64));
        for index in 0..p.get::<usize>(56) {
            let nan = said("nan") == Some(index as u32);
            let value = if nan { f64::NAN } else { (1000 * range + index) as f64 };
            // SAFETY: there are as many values as names.
            unsafe { values.add(index).write(value) };
        }
    };
}

/// Returns the version.
///
/// # Safety
/// `version` must be valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetVersion(version: *mut u32) -> u32 {
    // SAFETY: the caller promises that the pointer is valid for a write.
    unsafe { version.write(said("version").unwrap_or(130_500)) };
    0
}

/// Returns the name of a result.
///
/// # Safety
/// `text` must be valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetResultString(_: u32, text: *mut *const c_char) -> u32 {
    if said("nameless").is_none() {
        // SAFETY: the caller promises that the pointer is valid for a write.
        unsafe { text.write(c"CUPTI_ERROR_OF_SOME_KIND".as_ptr()) };
    }
    0
}

/// Registers the callbacks that provide and accept buffers.
#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityRegisterCallbacks(request: Request, complete: Complete) -> u32 {
    *CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner) = Some((request, complete));
    said("cuptiActivityRegisterCallbacks").unwrap_or(0)
}

/// Starts to record a kind of activity.
#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityEnable(_: u32) -> u32 {
    match said("cuptiActivityEnable") {
        Some(code) => code,
        None => {
            OPEN.fetch_add(1, Relaxed);
            0
        }
    }
}

/// Stops recording.
#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityDisable(_: u32) -> u32 {
    OPEN.fetch_sub(1, Relaxed);
    0
}

/// The sizes of the records that this fake writes, each with the record's kind. The sizes of
/// NVIDIA's records differ between versions.
const SIZES: [(u32, usize); 5] = [(1, 96), (2, 80), (3, 208), (4, 40), (8, 64)];

/// Passes a buffer of records to the callback, from another thread.
#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityFlushAll(_: u32) -> u32 {
    let Some((request, complete)) = *CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner)
    else {
        return 7;
    };
    let handed = std::thread::spawn(move || {
        let (mut buffer, mut size, mut most) = (std::ptr::null_mut(), 0, 0);
        request(&mut buffer, &mut size, &mut most);
        let mut valid = 0;
        let mut record = |kind: u32| {
            let params = Params(buffer.wrapping_add(valid));
            let length = SIZES.iter().find(|(of, _)| *of == kind).map_or(64, |(_, size)| *size);
            assert!(valid + length <= size);
            // SAFETY: the record is inside the buffer.
            unsafe { params.0.write_bytes(0, length) };
            params.put(0, kind);
            valid += length;
            params
        };
        let kernel = record(3);
        (kernel.put(16, 5000u64), kernel.put(24, 9000u64), kernel.put(48, 13u32));
        (kernel.put(52, 40i32), kernel.put(56, 1i32), kernel.put(60, 1i32));
        kernel.put(104, c"reduce".as_ptr());
        let copy = record(1);
        (copy.put(4, said("way").unwrap_or(1) as u8), copy.put(8, 4096u64), copy.put(16, 2000u64), copy.put(24, 3000u64));
        copy.put(40, 13u32);
        record(8);
        let set = record(2);
        (set.put(8, 512u64), set.put(16, 3500u64), set.put(24, 3600u64), set.put(40, 13u32));
        let call = record(4);
        (call.put(4, 307u32), call.put(8, 1000u64), call.put(16, 1700u64), call.put(28, 4711u32));
        complete(std::ptr::null_mut(), 0, buffer, size, valid);
    });
    match handed.join() {
        Ok(()) => said("cuptiActivityFlushAll").unwrap_or(0),
        Err(_) => 999,
    }
}

/// Returns the next record in a buffer.
///
/// # Safety
/// The caller must meet the conditions in NVIDIA's header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityGetNextRecord(
    buffer: *mut u8,
    valid: usize,
    record: *mut *const u32,
) -> u32 {
    // SAFETY: `cuptiActivityFlushAll` filled the buffer.
    unsafe {
        let last = *record;
        let next = match last.is_null() {
            true => buffer,
            false => {
                let length =
                    SIZES.iter().find(|(of, _)| *of == *last).map_or(64, |(_, size)| *size);
                last.cast_mut().cast::<u8>().add(length)
            }
        };
        if next >= buffer.add(valid) {
            return 12;
        }
        *record = next.cast();
    }
    0
}

/// Returns the number of dropped records.
///
/// # Safety
/// `dropped` must be valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityGetNumDroppedRecords(
    _: *mut c_void,
    _: u32,
    dropped: *mut usize,
) -> u32 {
    // SAFETY: the caller promises that the pointer is valid for a write.
    unsafe { dropped.write(said("dropped").unwrap_or(0) as usize) };
    0
}

/// Returns the name of a function.
///
/// # Safety
/// `name` must be valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetCallbackName(
    domain: u32,
    id: u32,
    name: *mut *const c_char,
) -> u32 {
    if (domain, id) != (1, 307) {
        return 1;
    }
    if said("nameless").is_none() {
        // SAFETY: the caller promises that the pointer is valid for a write.
        unsafe { name.write(c"cuLaunchKernel".as_ptr()) };
    }
    0
}
