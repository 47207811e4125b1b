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
//! graph, if the context tracks no events (`CudaContext::disable_event_tracking`). Both allocate
//! and compile only in their first calls; [`Reducer::prepare`] does so in advance. [`raw`] accepts
//! addresses and streams from any framework.
//!
//! # The same bits
//!
//! The order of the additions depends only on the number of elements and their type ([`shape::pick`]). It
//! does not depend on the device, its number of multiprocessors, the order in which blocks run, or the
//! slice's address. [`order`] defines the tree, which stays the same until [`ORDER`] changes. [`host`] uses
//! the same tree on the CPU, so its results are bit-identical.
//!
//! Minima and maxima are IEEE 754-2019's minimumNumber and maximumNumber: NaNs are ignored unless
//! all elements are NaN, and -0 is less than +0. A NaN result, including that of a sum, always has
//! the same bits: the exponent and the mantissa are all ones, and the sign is 0.

mod accumulator;
mod cuda;
mod element;
mod engine;
mod error;
mod exact;
mod free;
pub mod host;
mod kept;
mod kernels;
mod modules;
mod open;
pub mod raw;
mod reducer;
pub mod rows;
pub mod shape;
mod stage;
pub mod stages;
mod threads;

pub use accumulator::{Accumulator, Operation};
#[doc(hidden)]
pub use cuda::untracked;
pub use element::Element;
pub use error::{Error, Result};
#[doc(hidden)]
pub use exact::launch;
pub use exact::{ExactAccumulator, ExactElement, ExactFloat, ExactProduct};
pub use free::{
    exact_dot, exact_dot_into, exact_norm, exact_sum, exact_sum_into, exact_sum_of_squares,
    exact_sum_rows_into, max, max_into, min, min_into, sum, sum_into, sum_rows_into,
};
#[doc(hidden)]
pub use kept::kept;
pub use kept::{KEPT, close};
#[doc(hidden)]
pub use kernels::{Family, Kernel};
pub use open::{has_driver, open};
pub use reducer::Reducer;
pub use rows::Rows;
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

/// Returns the kernel for a type, operation and family.
#[doc(hidden)]
pub fn kernel<T: Element>(operation: Operation, family: Family) -> Kernel {
    <T as element::Sealed>::KERNELS[operation as usize][family as usize]
}

/// Returns the kernel for rows of a type and family.
#[doc(hidden)]
pub fn rows_kernel<T: Element>(family: rows::Family) -> Kernel {
    <T as element::Sealed>::ROWS[family.index()]
}
