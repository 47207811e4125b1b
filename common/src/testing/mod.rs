//! The tests that every step passes. Its sums are correct for awkward sizes, in every type and
//! block size, and its program answers bad input with an error message.

mod bits;
mod drops;
mod gpu;
mod gpus;
mod kernels;
mod program;
mod sums;

pub use bits::{same_bits, same_bits_at, same_bits_sweep};
pub use drops::faults;
pub use kernels::{every_kernel, every_kernel_sweep};
pub use program::{STEP, program, unwrapped};
pub use sums::{AWKWARD, check, sweep};
