//! Computes the sum, minimum or maximum of elements on several GPUs. For any number of GPUs, the
//! result is bit-identical to that on one GPU.
//!
//! [`reduce`] divides the global slice into chunks, as it does for one GPU. Each rank adds whole
//! chunks ([`shard()`]), the ranks exchange the partial sums as raw bytes, and every rank combines
//! all partial sums in the same order. The result therefore does not depend on which rank added
//! which chunk.
//!
//! [`Local`] uses all GPUs in one process, and exchanges partial sums inside the kernels, over the
//! links between the GPUs. [`Group`] consists of ranks, in one process or in several, which
//! exchange partial sums through NCCL. NCCL is loaded at run time. [`played`] simulates the ranks
//! with interpreters, and runs on any machine.

pub mod control;
mod cuda;
mod data;
mod error;
mod exact;
mod gate;
mod group;
mod launcher;
mod local;
pub mod measure;
pub mod model;
pub mod nccl;
mod plan;
pub mod played;
mod shard;
mod small;
mod stamp;

pub use cuda::name_of;
pub use data::{Data, Datum};
pub use error::{Error, Result};
pub use exact::ExactPlan;
pub use group::{Group, Options};
pub use launcher::{Launched, Launcher, Rank, launched, resolve};
pub use local::{Local, LocalPlan, Slice};
pub use plan::Plan;
pub use shard::{Layout, Move, Places, shard};
