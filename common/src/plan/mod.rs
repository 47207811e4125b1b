//! What is launched: a step, a problem, and the plan that the one makes for the other.

mod call;
mod chip;
mod holds;
mod launch;
mod parts;
mod problem;
mod scheme;
mod size;
mod step;

pub use call::{Call, Value};
pub use chip::Chip;
pub use holds::{Holds, Order};
pub use launch::{Arg, Buffer, Launch, Plan, Scratch, Stage, additions};
pub use numbers::Element;
pub use parts::Parts;
pub use problem::{Block, Problem};
pub use scheme::{Pass, Phase, Stride};
pub use size::{Size, Sizes};
pub use step::{Kernel, Step, Study};
