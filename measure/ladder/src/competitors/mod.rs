//! Everything that can be timed in a round: steps, study kernels, `reduce`, peers, and the limits.

pub mod blas;
mod competitor;
pub mod cub;
mod entry;
mod library;
mod limits;
mod peers;
mod reduce;

pub use competitor::Competitor;
pub use entry::{Entry, all};
pub(crate) use library::Built;
pub use limits::Limits;
pub use peers::Peers;
pub(crate) use reduce::{Borrowed, Run};
