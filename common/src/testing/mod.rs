//! The tests that every step passes: right on every awkward size, in every type and block size,
//! and a program that answers bad input with a sentence.

mod bits;
mod drops;
mod gpu;
mod gpus;
mod program;
mod sums;

pub use bits::{same_bits, same_bits_at};
pub use drops::faults;
pub use program::program;
pub use sums::{AWKWARD, check};
