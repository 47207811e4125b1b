//! The interface for a page. The page writes a question to the buffer from [`room`], calls
//! [`reply`], which returns the length of the answer in bytes, and reads the answer at [`answer`].
#![expect(unsafe_code, reason = "a function that a page calls by its name is not mangled")]

use std::cell::RefCell;

thread_local! {
    /// The question or, after [`reply`], the answer.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

// SAFETY: no other crate exports these three names.

/// Returns the buffer for a question with the given number of bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn room(bytes: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(bytes, 0);
        text.as_mut_ptr()
    })
}

/// Answers the question, and returns the number of bytes of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn reply() -> usize {
    TEXT.with_borrow_mut(|text| {
        *text = crate::ask(&String::from_utf8_lossy(text)).into_bytes();
        text.len()
    })
}

/// Returns the address of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}
