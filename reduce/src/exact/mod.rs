//! Exact sums: all elements are added without error, and the result is rounded once.
//!
//! ```
//! use samebits::{ExactAccumulator, host};
//!
//! let values = [1e30f32, 1.0, -1e30];
//! assert_eq!(values.iter().sum::<f32>(), 0.0);
//! assert_eq!(host::exact_sum(&values), 1.0);
//!
//! // Parts in any order, from anywhere: the same bits.
//! let (mut one, mut other) = (ExactAccumulator::new(), ExactAccumulator::new());
//! one.add(&values[2..]);
//! other.add(&values[..2]);
//! one.merge(&ExactAccumulator::from_bytes(&other.to_bytes())?)?;
//! assert_eq!(one.round(), 1.0);
//! # Ok::<(), samebits::Error>(())
//! ```
//!
//! [`exact_layout`](crate::exact_layout) defines the rules and the bytes of an accumulator.

mod accumulator;
mod bins;
mod bytes;
mod cut;
mod flags;
mod float;
pub(crate) mod host;
pub(crate) mod kept;
pub mod launch;
mod root;
mod round;
mod rows;
mod words;

pub use accumulator::ExactAccumulator;
pub use float::{ExactElement, ExactFloat};
