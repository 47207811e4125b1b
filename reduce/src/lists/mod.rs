//! Reductions of many slices of any length: lists of slices, and ragged rows, which are parts of
//! one slice between offsets. One launch adds all slices of a list; two launches add ragged rows.
//! Each slice or row is added as if it were alone, so its result is bit-identical to that of a
//! separate reduction.
//!
//! ```
//! use samebits::{Operation, host};
//! let (norms, norm) = host::reduce_list(&[&[3.0f32, 4.0], &[12.0]], Operation::Norm).unwrap();
//! assert_eq!((norms, norm), (vec![5.0, 12.0], 13.0));
//! let sums = host::reduce_ragged(&[1.0f32, 2.0, 3.0], Operation::Sum, &[0, 2, 2, 3]).unwrap();
//! assert_eq!(sums, [3.0, 0.0, 3.0]);
//! ```

mod device;
pub(crate) mod host;
mod queue;
pub(crate) mod raw;

pub use device::{reduce_list, reduce_ragged_into};
#[doc(hidden)]
pub use queue::{ITEM, Queued, kernels_of, queue, ragged_room};
