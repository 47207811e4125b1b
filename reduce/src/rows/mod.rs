//! Sums of rows. One launch adds many rows of any length. Each sum is bit-identical to the sum of a
//! slice with the same elements.
//!
//! ```
//! use samebits::{Rows, host};
//! let values = [1.0f32, 2.0, 3.0, 10.0, 20.0, 30.0];
//! assert_eq!(host::sum_rows(&values, Rows::new(2, 3)).unwrap(), [6.0, 60.0]);
//! assert_eq!(host::sum_rows(&values, Rows::new(2, 2).pitch(3)).unwrap(), [3.0, 30.0]);
//! ```
//!
//! On the GPU, [`Reducer::sum_rows_into`](crate::Reducer::sum_rows_into) writes the sums to device
//! memory, in one launch. A row is added in the same order as a slice of that length, so its sum is
//! bit-identical to [`host::sum`](crate::host::sum), for any number of rows, at any address, and on
//! every device. [`pick`] selects the threads that add a row, which affects only the speed.

pub(crate) mod host;
pub(crate) mod kept;
pub(crate) mod kernels;
mod launch;
mod layout;
mod plan;
mod shape;

#[doc(hidden)]
pub use kernels::Family;
pub use layout::{LONGEST, Rows};
#[doc(hidden)]
pub use plan::{Begin, Plan, plan};
pub use shape::{Shape, pick};
