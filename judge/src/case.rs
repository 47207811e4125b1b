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
    /// The kernel for each type.
    pub(crate) modules: Vec<(Element, Module)>,
    /// Of each line of the source, whether it is the reader's own.
    pub(crate) own: Vec<bool>,
    pub(crate) seed: u64,
}

impl Case {
    /// A launch under the usual order.
    pub(crate) fn scene(&self, element: Element, n: u64, threads: u32, grid: u32) -> Scene<'_> {
        let of = |(e, _): &&(Element, Module)| *e == element;
        let module = &self.modules.iter().find(of).expect("every type is loaded").1;
        let (task, schedule) = (self.task, Schedule::Converged);
        Scene { task, module, element, n, threads, grid, schedule, watched: true }
    }
}
