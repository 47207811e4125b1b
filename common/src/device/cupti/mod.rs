//! Calls CUPTI, the library that NVIDIA's profilers are built on, from inside the profiled program.
//!
//! CUPTI is opened only on demand. [`counters`] reads the hardware counters for each launch, and
//! [`activity`] records when each activity in a run began and ended.

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
