//! Status codes and error messages.

use std::{
    cell::RefCell,
    ffi::{CString, c_char},
    panic::{AssertUnwindSafe, catch_unwind},
};

use samebits::Error;

use crate::{
    call::{Failure, Result},
    samebits_status,
};

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

pub(crate) fn last_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

/// Runs a call, stores its error message for this thread, and returns its status code. A panic also
/// becomes a status code.
pub(crate) fn checked(call: impl FnOnce() -> Result<()>) -> samebits_status {
    let (status, text) = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => (samebits_status::SAMEBITS_OK, String::new()),
        Ok(Err(Failure::Argument(text))) => (samebits_status::SAMEBITS_INVALID, text),
        Ok(Err(Failure::Library(error))) => (code(&error), error.to_string()),
        Err(_) => (samebits_status::SAMEBITS_BUG, "a bug in samebits: please report it".into()),
    };
    LAST.set(CString::new(text).unwrap_or_default());
    status
}

fn code(error: &Error) -> samebits_status {
    match error {
        Error::Driver { .. } | Error::Lost => samebits_status::SAMEBITS_CUDA,
        Error::NoDriver
        | Error::NoSymbol { .. }
        | Error::NoDevice { .. }
        | Error::OldDevice { .. }
        | Error::OldDriver
        | Error::NoContext
        | Error::Forked => samebits_status::SAMEBITS_UNAVAILABLE,
        _ => samebits_status::SAMEBITS_INVALID,
    }
}
