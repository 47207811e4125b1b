//! Reductions of the columns of a matrix, or along any axis of a tensor. The elements of a column
//! are combined in the same order as those of a slice of the same length, so the results of the two
//! are bit-identical.
//!
//! ```
//! use samebits::{Columns, Operation, host};
//! let values = [1.0f32, 2.0, 3.0, 10.0, 20.0, 30.0];
//! let sums = host::reduce_columns(&values, Operation::Sum, Columns::new(2, 3)).unwrap();
//! assert_eq!(sums, [11.0, 22.0, 33.0]);
//! let tensor = Columns::of_axis(&[1, 2, 3], 1).unwrap();
//! assert_eq!(host::reduce_columns(&values, Operation::Max, tensor).unwrap(), [10.0, 20.0, 30.0]);
//! ```

mod device;
pub(crate) mod host;
mod layout;
mod plan;
pub(crate) mod raw;

pub use device::reduce_columns_into;
pub use layout::Columns;
#[doc(hidden)]
pub use plan::{Plan, THREADS, allow_two, kernel_of, plan, plan_of};
