//! Cells that are initialized once, by a function that can fail.

use std::cell::OnceCell;

use crate::Result;

/// Returns the value of a cell. An empty cell is first initialized by calling `make`, which may
/// fail.
pub(crate) fn get_or_try<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    match cell.get() {
        Some(value) => Ok(value),
        None => {
            let value = make()?;
            Ok(cell.get_or_init(|| value))
        }
    }
}
