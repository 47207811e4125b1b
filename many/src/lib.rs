//! The sum, minimum or maximum of elements that lie on several GPUs: with the bits that one GPU would
//! have given, whatever their number.
//!
//! The shape of the sum is that of the global length, as [`reduce`] cuts it. Each rank adds whole parts
//! ([`shard()`]), the parts' sums are exchanged as raw bytes, and every rank finishes over all of them in
//! the same order. So nothing depends on who added what.
//!
//! [`Local`] has all GPUs in one process, and exchanges inside the kernels, through the GPUs' own links.
//! [`Group`] is one rank of many, on NCCL, which is found at run time. [`played`] has ranks that are
//! interpreters, on any machine.

pub mod control;
mod cuda;
mod data;
mod error;
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
pub use group::{Group, Options};
pub use launcher::{Launched, Launcher, Rank, launched, resolve};
pub use local::{Local, LocalPlan, Slice};
pub use plan::Plan;
pub use shard::{Layout, Move, Places, shard};
