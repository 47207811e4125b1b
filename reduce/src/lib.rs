//! Computes the sum, minimum or maximum of a slice on an NVIDIA GPU, in one launch and with the
//! same bits on every device and on the host.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let stream = samebits::open(0)?;
//! let slice = stream.clone_htod(&vec![1.0f32; 1 << 20])?;
//! assert_eq!(samebits::sum(&stream, &slice)?, 1048576.0);
//! # Ok(())
//! # }
//! ```
//!
//! [`sum`] waits for the result. A [`Reducer`] can instead leave the result on the device
//! ([`Reducer::sum_into`]), for the next kernel in the stream. Such calls can be captured into a
//! graph, if the context tracks no events (`CudaContext::disable_event_tracking`). Both kinds of
//! call allocate and compile only when they are first used; [`Reducer::prepare`] does so in
//! advance. [`raw`] accepts addresses and streams from any framework.
//!
//! # The same bits
//!
//! The order of the additions depends only on the number of elements and their type
//! ([`shape::pick`]). The order does not depend on the device, its number of multiprocessors, the
//! order in which blocks run, or the slice's address. [`order`] defines the tree, which stays the
//! same until [`ORDER`] changes. [`host`] uses the same tree on the CPU, so its results are
//! bit-identical.
//!
//! Minima and maxima are IEEE 754-2019's minimumNumber and maximumNumber: NaNs are ignored unless
//! all elements are NaN, and -0 is less than +0. A NaN result, including that of a sum, always has
//! the same bits: the exponent and the mantissa are all ones, and the sign is 0.

mod accumulator;
pub mod columns;
mod cuda;
pub mod dot;
mod element;
mod engine;
mod error;
mod exact;
mod fold;
mod free;
pub mod host;
mod join;
mod kept;
mod kernels;
pub mod lists;
pub mod log_sum_exp;
mod modules;
pub mod moments;
mod once;
mod open;
mod operate;
mod operations;
pub mod raw;
mod reducer;
pub mod rows;
pub mod select;
pub mod shape;
mod stage;
pub mod stages;
mod statistics;
mod texts;
mod threads;
mod types;

pub use accumulator::Accumulator;
pub use columns::{Columns, reduce_columns_into};
#[doc(hidden)]
pub use cuda::untracked;
pub use dot::{dot, dot_into, dot_wide};
pub use element::{Element, WideElement};
#[doc(hidden)]
pub use element::{Itself, Read, Truth, Wide};
pub use error::{Error, Result};
#[doc(hidden)]
pub use exact::launch;
pub use exact::{ExactAccumulator, ExactElement, ExactFloat};
pub use free::{
    any, count, every, exact_dot, exact_dot_into, exact_norm, exact_sum, exact_sum_into,
    exact_sum_of_squares, exact_sum_rows_into, max, max_into, min, min_into, reduce, reduce_into,
    reduce_rows_into, reduce_wide, sum, sum_into, sum_rows_into,
};
#[doc(hidden)]
pub use kept::kept;
pub use kept::{KEPT, close};
#[doc(hidden)]
pub use kernels::{Family, Kernel, kernel, kernel_of, rows_kernel, rows_kernel_of};
pub use lists::{reduce_list, reduce_ragged_into};
pub use log_sum_exp::log_sum_exp_rows_into;
pub use moments::moments_rows_into;
pub use open::{has_driver, open};
pub use operations::Operation;
pub use reducer::Reducer;
pub use rows::Rows;
pub use select::{
    Found, argmax, argmin, find_into, find_rows_into, min_max, min_max_into, min_max_rows_into,
};
pub use shape::Shape;
#[doc(hidden)]
pub use threads::on_threads;

pub use cudarc;

#[doc = include_str!("../ORDER.md")]
pub mod order {}

#[doc = include_str!("../EXACT.md")]
pub mod exact_layout {}

/// The version of the [`order`] of the additions. A result has the same bits in all versions of
/// this crate that have the same `ORDER`.
pub const ORDER: u32 = 1;

/// README.md, whose programs are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
