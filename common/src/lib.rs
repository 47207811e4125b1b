//! The harness around every step, in five rooms.
//!
//! A [`Step`] is a value. It makes a [`Plan`](plan::Plan) from a [`Problem`](plan::Problem); a
//! [`Job`](run::Job) binds the plan to a [`Device`](device::Device), a GPU or the interpreter, and
//! runs it; the [sum] is verified before it is timed; and what came of it is [said](say).

pub mod device;
pub mod plan;
pub mod run;
pub mod say;
pub mod sum;

mod error;
pub mod testing;

pub use device::ptx;
pub use error::{DRIVER, Error, Result};
pub use plan::{Element, Kernel, Step, Study};
pub use say::cli;
