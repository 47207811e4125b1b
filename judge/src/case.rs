//! A kernel before its judge.

use numbers::Element;
use simt::{Module, Schedule};

use crate::scene::Scene;
use crate::task::Task;
use crate::verdict::Failure;

/// What a stage says: how much was asked, or what is wrong.
pub(crate) type Said = Result<String, Box<Failure>>;

/// A kernel before its judge.
pub(crate) struct Case {
    pub(crate) task: &'static Task,
    /// The kernel for each type that there is, `float` first.
    pub(crate) modules: Vec<(Element, Module)>,
    /// Of each line of the source, whether it is the reader's own.
    pub(crate) own: Vec<bool>,
    pub(crate) seed: u64,
}

impl Case {
    /// Whether there is a kernel for a type.
    pub(crate) fn has(&self, element: Element) -> bool {
        self.modules.iter().any(|(e, _)| *e == element)
    }

    /// A launch under the usual order.
    pub(crate) fn scene(&self, element: Element, n: u64, threads: u32, grid: u32) -> Scene<'_> {
        let of = |(e, _): &&(Element, Module)| *e == element;
        let module =
            &self.modules.iter().find(of).expect("only types that are there are asked for").1;
        let (task, schedule) = (self.task, Schedule::Converged);
        Scene { task, module, element, n, threads, grid, schedule, watched: true }
    }
}
