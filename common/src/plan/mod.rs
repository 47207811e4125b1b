//! Plans. A step makes a plan for a problem; this does not require a device.

mod call;
mod chip;
mod chunks;
mod holds;
mod launch;
mod problem;
mod scheme;
mod step;

pub use call::{Call, Value};
pub use chip::Chip;
pub use chunks::Chunks;
pub use holds::{Holds, Order};
pub use launch::{Arg, Buffer, Launch, Plan, Scratch, Stage, additions};
pub use numbers::{Element, Size, Sizes};
pub use problem::{Block, Problem};
pub use scheme::{Pass, Phase, Stride};
pub use step::{Kernel, Step, Study};
