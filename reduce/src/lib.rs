//! The sum, minimum or maximum of a slice on a GPU: one launch, and the same bits on every device.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let stream = cudarc::driver::CudaContext::new(0)?.default_stream();
//! let slice = stream.clone_htod(&vec![1.0f32; 1 << 20])?;
//! assert_eq!(reduce::sum(&stream, &slice)?, 1048576.0);
//! # Ok(())
//! # }
//! ```
//!
//! [`sum`] waits for the result. A [`Reducer`] made once leaves it on the device instead
//! ([`Reducer::sum_into`]), where the next kernel of the stream finds it; these calls can be captured
//! into a graph, on a context that tracks no events (`CudaContext::disable_event_tracking`). Neither allocates, and neither asks the device anything, after the first call.
//!
//! Which of the kernels runs is decided by the number of bytes and by whether the device has
//! clusters ([`shape::pick`]). The order of the additions is a function of the number of elements,
//! their type, and whether there are clusters: not of the grid, the number of multiprocessors, the
//! order in which blocks run, or where the slice begins. So a float sum has the same bits in every run.

mod cuda;
mod element;
mod error;
mod reducer;
pub mod shape;

pub use cuda::{has_driver, untracked};
pub use element::Element;
pub use error::{Error, Result};
pub use reducer::{Reducer, max, min, sum};

/// The PTX for a type: without clusters, and with.
#[doc(hidden)]
pub fn ptx<T: Element>() -> [&'static str; 2] {
    <T as element::Sealed>::PTX
}
