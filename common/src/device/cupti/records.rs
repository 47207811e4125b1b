//! The first fields of four types of records that CUPTI returns. These fields are the same in all
//! versions from 12.6 to 13.5; later fields are not read.

use std::ffi::c_char;

/// The first field of every record is its kind. This kind describes a copy.
pub(super) const COPY: u32 = 1;
pub(super) const SET: u32 = 2;
pub(super) const KERNEL: u32 = 3;
pub(super) const DRIVER: u32 = 4;
pub(super) const CONCURRENT: u32 = 10;

macro_rules! records {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name {
            $(pub(super) $field: $type,)*
        }
    )*};
}

records! {
    /// The first fields of `CUpti_ActivityKernel…`.
    Kernel {
        kind: u32,
        config: [u8; 4],
        cache: [u32; 2],
        start: u64,
        end: u64,
        completed: u64,
        device: u32,
        context: u32,
        stream: u32,
        grid: [i32; 3],
        block: [i32; 3],
        shared: [i32; 2],
        local: [u32; 2],
        correlation: u32,
        id: i64,
        name: *const c_char,
    }
    /// The first fields of `CUpti_ActivityMemcpy…`.
    Copied {
        kind: u32,
        way: u8,
        memory: [u8; 2],
        flags: u8,
        bytes: u64,
        start: u64,
        end: u64,
        device: u32,
        context: u32,
        stream: u32,
    }
    /// The first fields of `CUpti_ActivityMemset…`.
    Filled {
        kind: u32,
        value: u32,
        bytes: u64,
        start: u64,
        end: u64,
        device: u32,
        context: u32,
        stream: u32,
    }
    /// The first fields of `CUpti_ActivityAPI`.
    Call {
        kind: u32,
        function: u32,
        start: u64,
        end: u64,
        process: u32,
        thread: u32,
        correlation: u32,
        answer: u32,
    }
}
