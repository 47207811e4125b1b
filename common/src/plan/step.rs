//! A step of the ladder, as a value.

use super::{element::Element, launch::Plan, problem::Problem};

/// One kernel and how it is launched. What differs between two steps differs in this literal.
#[derive(Debug)]
pub struct Step {
    /// The crate's name: also its folder, its page in the book and its row in every table.
    pub name: &'static str,
    /// What this step does better than the one before.
    pub cures: &'static str,
    /// What it still costs: the next step.
    pub costs: &'static str,
    /// The kernel.
    pub kernel: Kernel,
    /// The driver: from a problem to the launches that solve it.
    pub plan: fn(&Problem) -> Plan,
}

/// Several ways to one sum, beside the ladder: each is a step, and none is the next one's lesson.
#[derive(Debug)]
pub struct Study {
    /// The crate's name.
    pub name: &'static str,
    /// What it asks, in a line.
    pub about: &'static str,
    /// The sizes that it is about, as `--n` takes them.
    pub sizes: &'static str,
    /// Bytes of the largest input that it is about: above it its ways are right, and no longer what
    /// one would take.
    pub up_to: u64,
    /// The ways, in the order of every table.
    pub ways: &'static [&'static Step],
}

/// `kernel.cu` and the PTX made from it.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Where `kernel.cu` is in the source tree that this program was built from.
    pub path: &'static str,
    /// Its text at build time.
    pub source: &'static str,
    /// The committed PTX, in the order of [`Element::ALL`].
    pub ptx: [&'static str; 3],
}

impl Kernel {
    /// The committed PTX for an element type.
    pub fn ptx(&self, element: Element) -> &'static str {
        self.ptx[element as usize]
    }
}

/// The `kernel.cu` of the crate that this is written in, and its PTX.
#[macro_export]
macro_rules! kernel {
    () => {
        $crate::Kernel {
            path: concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernel.cu"),
            source: include_str!("kernel.cu"),
            ptx: [
                include_str!("kernel.f32.ptx"),
                include_str!("kernel.i32.ptx"),
                include_str!("kernel.f64.ptx"),
            ],
        }
    };
}
