//! The sum, minimum or maximum of a slice on a GPU: one launch, and the same bits on every device.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let stream = reduce::open(0)?;
//! let slice = stream.clone_htod(&vec![1.0f32; 1 << 20])?;
//! assert_eq!(reduce::sum(&stream, &slice)?, 1048576.0);
//! # Ok(())
//! # }
//! ```
//!
//! [`sum`] waits for the result. A [`Reducer`] made once leaves it on the device instead
//! ([`Reducer::sum_into`]), where the next kernel of the stream finds it; these calls can be captured
//! into a graph, on a context that tracks no events (`CudaContext::disable_event_tracking`). Neither
//! allocates or compiles after its first calls, and [`Reducer::prepare`] has that done ahead.
//!
//! # The same bits
//!
//! Which kernel runs, and the order of the additions, are functions of the number of elements and of
//! their type ([`shape::pick`]): not of the device, its number of multiprocessors, the order in which
//! blocks run, or where the slice begins. [`order`] says which tree it is, and is a promise until
//! [`ORDER`] changes. [`host`] has the same tree on the CPU, with the same bits.
//!
//! Minima and maxima are IEEE 754-2019's minimumNumber and maximumNumber: a NaN is passed over unless
//! there is nothing else, and -0 is below +0. A NaN result, of a sum too, always has the same bits:
//! all of its exponent and mantissa set, and no sign.

mod accumulator;
mod cuda;
mod element;
mod error;
mod free;
pub mod host;
mod kernels;
mod modules;
mod open;
mod reducer;
pub mod rows;
pub mod shape;
mod stage;
pub mod stages;

pub use accumulator::{Accumulator, Operation};
pub use cuda::untracked;
pub use element::Element;
pub use error::{Error, Result};
pub use free::{KEPT, kept, max, min, sum};
#[doc(hidden)]
pub use kernels::{Family, Kernel};
pub use open::{has_driver, open};
pub use reducer::Reducer;
pub use rows::Rows;
pub use shape::Shape;

#[doc = include_str!("../ORDER.md")]
pub mod order {}

/// The version of the [`order`] of the additions. A result has the same bits in every version of this
/// crate that has the same one.
pub const ORDER: u32 = 1;

/// What README.md shows is compiled too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The kernel for a type, operation and family.
#[doc(hidden)]
pub fn kernel<T: Element>(operation: Operation, family: Family) -> Kernel {
    <T as element::Sealed>::KERNELS[operation as usize][family as usize]
}

/// The kernel of rows for a type and family.
#[doc(hidden)]
pub fn rows_kernel<T: Element>(family: rows::Family) -> Kernel {
    <T as element::Sealed>::ROWS[family.index()]
}
