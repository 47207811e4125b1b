//! Whatever can be timed in a round: a step, a way of a study, `reduce`, a peer, a floor, a ceiling.

pub mod blas;
mod contender;
pub mod cub;
mod entry;
mod limits;
mod peers;
mod reduce;

pub use contender::Contender;
pub use entry::{Entry, all};
pub use limits::Limits;
pub use peers::Peers;
pub(crate) use reduce::{Borrowed, Run};
