//! CUPTI, the library on which NVIDIA's profilers are built, called from inside the run.
//!
//! It is opened only on demand: [`counters`] reads the hardware counters of each launch, and
//! [`activity`] records when each activity of a run began and ended.

pub mod activity;
pub mod counters;
mod fault;
mod library;
mod records;
mod structs;
#[cfg(test)]
mod tests;

pub use fault::Fault;
pub use library::Library;
