//! The tests that every step passes. The tests check that the step's sums are correct for awkward
//! sizes, in every type and block size, and that its program answers bad input with an error
//! message.

mod bits;
mod drops;
mod exact;
mod gpu;
mod gpus;
mod kernels;
mod program;
mod sums;

pub use bits::{same_bits, same_bits_at, same_bits_sweep};
pub use drops::faults;
pub use exact::rounded_once;
pub use kernels::{every_kernel, every_kernel_sweep};
pub use program::{STEP, program, unwrapped};
pub use sums::{AWKWARD, check, sweep};
