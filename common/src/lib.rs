//! The harness around every step, in five modules.
//!
//! A [`Step`] is a value that makes a [`Plan`](plan::Plan) from a [`Problem`](plan::Problem). A
//! [`Job`](run::Job) binds the plan to a [`Device`](device::Device), which is a GPU or the
//! interpreter, and runs it. The [sum] is verified before it is timed, and [`say`] prints the
//! result.

pub mod device;
pub mod plan;
pub mod run;
#[cfg(not(target_family = "wasm"))]
pub mod say;
pub mod sum;

mod error;
#[cfg(not(target_family = "wasm"))]
pub mod testing;

pub use device::ptx;
pub use error::{DRIVER, Error, Result};
pub use plan::{Element, Kernel, Step, Study};
#[cfg(not(target_family = "wasm"))]
pub use say::cli;
