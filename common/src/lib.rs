//! The harness around every step: one noun a file.
//!
//! A [`Step`] is a value. Its driver makes a [`Plan`](plan::Plan) from a
//! [`Problem`](plan::Problem); a [`Job`](job::Job) binds the plan to a
//! [`Device`](device::Device), a GPU or the interpreter, and runs it; the sum is
//! [verified](verify) before it is [timed](timing), and the [report] says so.

pub mod device;
pub mod plan;
pub mod reference;
pub mod scalar;
pub mod size;
pub mod verify;

pub mod bench;
pub mod call;
pub mod cli;
pub mod cuda;
mod element;
mod error;
pub mod facts;
mod gate;
pub mod input;
pub mod interpreter;
pub mod job;
pub mod ledger;
pub mod ptx;
pub mod record;
pub mod report;
pub mod run;
mod step;
pub mod stopwatch;
pub mod testing;
pub mod timing;
pub mod workload;

pub use element::Element;
pub use error::{Error, Result};
pub use step::{Kernel, Step};
