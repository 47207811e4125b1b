//! The log-sum-exp of rows: the logarithm of the sum of exp(x) over a row's elements x.
//!
//! ```
//! use samebits::{Rows, host};
//! let values = [0.0f32, 0.0, 1000.0, 1000.0];
//! let found = host::log_sum_exp_rows(&values, Rows::new(2, 2)).unwrap();
//! assert_eq!(found, [0.6931472, 1000.6932]);
//! ```
//!
//! A row is read once. Each warp keeps the largest element m that it has read, and the sum of
//! exp(x - m) over its elements x; when m changes, the sum is scaled by a power that is computed as
//! an `f64`. The result is m + log(sum), which does not overflow. Differences from m and their
//! exponentials are computed in the type of the result, which is `f32` for `f16` and `bf16`; the
//! sums and the logarithm are computed as `f64`. The exponential function and the logarithm are
//! polynomials with the same additions, multiplications, divisions and fused multiply-adds on the
//! device and the host, so the results have the same bits. In `f32`, the exponential function takes
//! eight fused multiply-adds, and returns 0 for differences below -87.7 (in `f64`, below -708.7).
//!
//! If a row contains NaN, its result is NaN. Otherwise, if a row contains infinity, its result is
//! infinity, and if all its elements are minus infinity, its result is minus infinity.
//!
//! For a row of n elements with the result r, the error is at most 2^-24 (|r| + 1.1 log(n) + 2) if
//! r is an `f32`, and at most 2^-53 (|r| + 4 log(n) + k + 20) if it is an `f64`, where k is the
//! number of elements that a thread adds. The term |r| accounts for the rounding of the result, and
//! log(n) bounds the mean rounding error of the differences.

mod device;
mod functions;
pub(crate) mod host;

#[doc(hidden)]
pub use crate::statistics::plan;
#[doc(hidden)]
pub use device::kernel;
pub use device::log_sum_exp_rows_into;
