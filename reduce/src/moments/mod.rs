//! The mean and the variance of rows, in one pass.
//!
//! ```
//! use samebits::{Rows, host};
//! let values = [1.0f32, 2.0, 3.0, 4.0, 7.0, 7.0, 7.0, 7.0];
//! let (means, variances) = host::moments_rows(&values, Rows::new(2, 4), 0).unwrap();
//! assert_eq!((means, variances), (vec![2.5, 7.0], vec![1.25, 0.0]));
//! ```
//!
//! Each difference between an element and the row's first element is computed as an `f64`, and so
//! are the sums of the differences and of their squares. The mean is the first element plus the
//! mean of the differences. For the variance, the square of the sum, divided by n, is subtracted
//! from the sum of the squares, and the result is divided by `n - less`.
//!
//! The error comes from a sequence of at most k + 20 roundings to 53 bits, where k is the number of
//! elements that a thread adds, and from one rounding of the result. With u = 2^-53, the variance v
//! of `f32` elements has a relative error of at most about (k + 20) u (1 + d^2 / v) + 2^-24, where
//! d is the difference between the mean and the first element.
//!
//! If the squares of differences between `f64` elements overflow, the variance is infinite or NaN.

mod device;
pub(crate) mod host;

#[doc(hidden)]
pub use crate::statistics::plan;
#[doc(hidden)]
pub use device::kernel;
pub use device::moments_rows_into;
pub use device::raw_moments_rows_into;
