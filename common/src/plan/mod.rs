//! What is launched: a step, a problem, and the plan that the one makes for the other.

mod call;
mod element;
mod launch;
mod problem;
mod scheme;
mod size;
mod step;

pub use call::{Call, Number};
pub use element::Element;
pub use launch::{Arg, Buffer, Launch, Plan, Scratch};
pub use problem::{Block, Problem};
pub use scheme::{Pass, Phase, chunk};
pub use size::Size;
pub use step::{Kernel, Step, Study};
