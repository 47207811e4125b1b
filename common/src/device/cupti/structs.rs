//! The argument structures of CUPTI's functions, as CUPTI's headers define them.
//!
//! A structure begins with its size in the version that the caller uses. This size is the number of
//! bytes up to the end of the last field, which may be less than the size of the type. CUPTI
//! accepts every size that a structure has ever had. The sizes here are those in CUDA 12.6.
//!
//! This file contains `unsafe` code, because nothing checks the layout of a structure.
#![expect(unsafe_code, reason = "NVIDIA's headers promise that the C structures have this layout")]

use std::ffi::{c_char, c_void};

/// The argument structure of a function.
///
/// # Safety
/// The type must have the layout that the function expects.
pub(super) unsafe trait Asked {
    /// The function's name.
    const CALL: &'static str;
}

macro_rules! asked {
    ($($(#[$doc:meta])* $name:ident, $call:literal, $size:literal { $($(#[$note:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug)]
        pub(super) struct $name {
            pub(super) size: usize,
            pub(super) private: *const c_void,
            $($(#[$note])* pub(super) $field: $type,)*
        }

        // SAFETY: the fields are those of the function's structure, in `cupti_profiler_target.h`,
        // `cupti_range_profiler.h`, `cupti_profiler_host.h` or `cupti_target.h`.
        unsafe impl Asked for $name {
            const CALL: &'static str = $call;
        }

        impl Default for $name {
            fn default() -> $name {
                // SAFETY: the fields are numbers and pointers, for which zero is valid.
                $name { size: $size, ..unsafe { std::mem::zeroed() } }
            }
        }
    )*};
}

asked! {
    ProfilerInitialize, "cuptiProfilerInitialize", 16 {}
    /// Queries whether a device supports counting. If it does, each property has the value 3.
    DeviceSupported, "cuptiProfilerDeviceSupported", 52 {
        device: i32,
        supported: u32,
        architecture: u32,
        sli: u32,
        virtual_gpu: u32,
        confidential: u32,
        mining: u32,
        wsl: u32,
        /// The profiling API; 0 selects the range profiler.
        api: u32,
    }
    ChipName, "cuptiDeviceGetChipName", 32 { index: usize, name: *const c_char }
    /// This function is called twice: first without an image, to get the image's size, then with
    /// the image.
    Availability, "cuptiProfilerGetCounterAvailability", 40 {
        context: *mut c_void,
        image_size: usize,
        image: *mut u8,
    }
    HostInitialize, "cuptiProfilerHostInitialize", 48 {
        /// The kind of profiler; 0 selects the range profiler.
        kind: u32,
        chip: *const c_char,
        availability: *const u8,
        host: *mut c_void,
    }
    HostDeinitialize, "cuptiProfilerHostDeinitialize", 24 { host: *mut c_void }
    AddMetrics, "cuptiProfilerHostConfigAddMetrics", 40 {
        host: *mut c_void,
        names: *const *const c_char,
        count: usize,
    }
    ConfigSize, "cuptiProfilerHostGetConfigImageSize", 32 { host: *mut c_void, image_size: usize }
    Config, "cuptiProfilerHostGetConfigImage", 40 {
        host: *mut c_void,
        image_size: usize,
        image: *mut u8,
    }
    Passes, "cuptiProfilerHostGetNumOfPasses", 40 {
        image_size: usize,
        image: *mut u8,
        passes: usize,
    }
    Enable, "cuptiRangeProfilerEnable", 32 { context: *mut c_void, ranges: *mut c_void }
    Disable, "cuptiRangeProfilerDisable", 24 { ranges: *mut c_void }
    DataSize, "cuptiRangeProfilerGetCounterDataSize", 64 {
        ranges: *mut c_void,
        names: *const *const c_char,
        count: usize,
        most: usize,
        nodes: u32,
        data_size: usize,
    }
    DataInitialize, "cuptiRangeProfilerCounterDataImageInitialize", 40 {
        ranges: *mut c_void,
        data_size: usize,
        data: *mut u8,
    }
    SetConfig, "cuptiRangeProfilerSetConfig", 90 {
        ranges: *mut c_void,
        config_size: usize,
        config: *const u8,
        data_size: usize,
        data: *mut u8,
        /// With the value 1, each launch is a range.
        range: u32,
        /// With the value 2, each launch is replayed once per pass, from the same memory contents.
        replay: u32,
        most: usize,
        levels: u16,
        least_level: u16,
        pass: usize,
        level: u16,
    }
    Start, "cuptiRangeProfilerStart", 24 { ranges: *mut c_void }
    Stop, "cuptiRangeProfilerStop", 41 {
        ranges: *mut c_void,
        pass: usize,
        level: usize,
        all_submitted: u8,
    }
    Decode, "cuptiRangeProfilerDecodeData", 32 { ranges: *mut c_void, dropped: usize }
    DataInfo, "cuptiRangeProfilerGetCounterDataInfo", 40 {
        data: *const u8,
        data_size: usize,
        ranges: usize,
    }
    Evaluate, "cuptiProfilerHostEvaluateToGpuValues", 72 {
        host: *mut c_void,
        data: *const u8,
        data_size: usize,
        range: usize,
        names: *const *const c_char,
        count: usize,
        values: *mut f64,
    }
}
