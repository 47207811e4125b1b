//! A sum for each row: many of them at once, of any length, each with the bits of a slice's sum.
//!
//! ```
//! use reduce::{Rows, host};
//! let values = [1.0f32, 2.0, 3.0, 10.0, 20.0, 30.0];
//! assert_eq!(host::sum_rows(&values, Rows::new(2, 3)).unwrap(), [6.0, 60.0]);
//! assert_eq!(host::sum_rows(&values, Rows::new(2, 2).pitch(3)).unwrap(), [3.0, 30.0]);
//! ```
//!
//! On the GPU it is [`Reducer::sum_rows_into`](crate::Reducer::sum_rows_into), one launch, which leaves
//! the sums on the device. A row is added in the order of a slice of its length: so it has the bits of
//! [`host::sum`](crate::host::sum), whatever number of rows it is among, wherever it begins, and on
//! every device. How rows are shared out ([`pick`]) changes how fast that is, and nothing else.

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
