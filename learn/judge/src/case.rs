//! A kernel, and the task against which it is judged.

use numbers::Element;
use simt::{Module, Schedule};

use crate::scene::{Printed, Scene};
use crate::task::Task;
use crate::verdict::Failure;

/// The result of a stage: a description of its tests, or the failure.
pub(crate) type Said = Result<String, Box<Failure>>;

/// A kernel, and the task against which it is judged.
pub(crate) struct Case {
    pub(crate) task: &'static Task,
    /// The kernel for each available type, `float` first.
    pub(crate) modules: Vec<(Element, Module)>,
    /// For each line of the source, whether it is the reader's own.
    pub(crate) own: Vec<bool>,
    /// The lines of the source that only print.
    pub(crate) printing: Vec<u32>,
    pub(crate) seed: u64,
    /// The latest output of the kernel.
    pub(crate) prints: Printed,
}

impl Case {
    /// Returns whether the kernel is available for a type.
    pub(crate) fn has(&self, element: Element) -> bool {
        self.modules.iter().any(|(e, _)| *e == element)
    }

    /// Returns all combinations of type and block size, except `float` with the usual block size.
    pub(crate) fn launches(&self) -> impl Iterator<Item = (Element, u32)> {
        let types = self.modules.iter().map(|(element, _)| *element);
        let all = types.flat_map(|element| self.task.blocks.iter().map(move |t| (element, *t)));
        all.filter(|(element, t)| (*element, *t) != (Element::F32, self.task.blocks[0]))
    }

    /// Returns a launch under the default schedule.
    pub(crate) fn scene(&self, element: Element, n: u64, threads: u32, grid: u32) -> Scene<'_> {
        let of = |(e, _): &&(Element, Module)| *e == element;
        let module = &self.modules.iter().find(of).expect("only available types are requested").1;
        let (task, schedule) = (self.task, Schedule::Converged);
        Scene {
            task,
            module,
            element,
            n,
            threads,
            grid,
            schedule,
            watched: true,
            traced: false,
            gpu: None,
            window: None,
            prints: &self.prints,
        }
    }
}
