//! Searches for the index of the smallest or the largest element, and for both extremes in one
//! pass. The results do not depend on the order in which elements are read, so the kernels read
//! slices of any alignment in the fastest order.
//!
//! ```
//! use samebits::{Operation, Rows, host};
//! let values = [3.0f32, f32::NAN, 5.0, 5.0];
//! let found = host::find(&values, Operation::Max).unwrap();
//! assert_eq!((found.index, found.value), (2, 5.0));
//! assert_eq!(host::min_max(&values), (3.0, 5.0));
//! ```
//!
//! The index is that of the first element whose bits are those of the minimum or the maximum. NaNs
//! are therefore ignored; if all elements are NaN, the index is 0. -0 is less than +0.

mod device;
pub(crate) mod host;
mod launch;
mod plan;
pub(crate) mod raw;

pub use device::{
    argmax, argmin, find_into, find_rows_into, min_max, min_max_into, min_max_rows_into,
};
#[doc(hidden)]
pub use plan::{Family, Plan, kernel, plan};

use crate::{Element, Error, Operation, Result};

/// The smallest or largest element of a slice, and its index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found<A> {
    /// The lowest index of an element with the value.
    pub index: u64,
    /// The element, or its magnitude if the search was for the largest magnitude.
    pub value: A,
}

/// Fails unless the result of an operation is one of the elements.
pub(crate) fn check<T: Element>(operation: Operation) -> Result<()> {
    match operation {
        Operation::Min | Operation::Max | Operation::LargestMagnitude => operation.check::<T>(),
        _ => Err(Error::NoIndex { operation: operation.name() }),
    }
}
