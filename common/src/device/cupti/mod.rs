//! CUPTI, the library by which NVIDIA's tools look into a run, from inside the run.
//!
//! Nothing here is opened unless a flag asks for it: [`counters`] reads what the GPU counted of each
//! launch, [`activity`] when everything of a run began and ended.

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
