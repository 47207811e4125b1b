//! The judge of the exercises: PTX and its source in, a verdict out.
//!
//! A [`Task`] is a value: how its kernel is launched, what it has to give, and what it may spend.
//! [`judge()`] runs a kernel in the interpreter, on fresh random numbers, under many orders of
//! execution, and stops at the first thing that a person would mend. It touches no file, no thread, no
//! clock and no process, so that a web page can have it; what compiles and prints is around it.
//!
//! # Map
//!
//! [`Task`] and [`TASKS`], what is asked; [`Cost`], what is counted, with its advice; `case`, a kernel before its judge; `values`, the numbers that a kernel is given, whose sums are
//! exact; `scene`, a kernel with its memory, run twice; `right`, `clean` and `budget`, the three
//! stages; [`Verdict`], what came of it.
#![forbid(unsafe_code)]

mod budget;
mod case;
mod clean;
mod cost;
mod long;
mod right;
mod scene;
mod task;
mod tasks;
mod values;
mod verdict;

pub use cost::Cost;
pub use task::{Budget, Operation, Shape, Task};
pub use tasks::TASKS;
pub use verdict::{Failure, Stage, Verdict, paragraph};

use case::{Case, Said};
use numbers::Element;
use simt::Module;

/// A kernel as it was compiled.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    /// The CUDA source.
    pub source: &'a str,
    /// The PTX for each type, in the order of [`Element::ALL`]; nothing where there is none, as of
    /// PTX that was edited by hand. That of `float` is always asked for.
    pub ptx: [Option<&'a str>; 3],
}

/// Judges a kernel. The same seed gives the same verdict.
pub fn judge(task: &'static Task, kernel: &Kernel<'_>, seed: u64) -> Verdict {
    let mut verdict = Verdict { task, seed, passed: Vec::new(), failure: None };
    let mut modules = Vec::new();
    if kernel.ptx[0].is_none() {
        let said = "there is no PTX for `float`, in which a kernel is counted: judge that for f32";
        verdict.failure = Some(Failure::new(Stage::Right, said.into()));
        return verdict;
    }
    for (element, ptx) in Element::ALL.into_iter().zip(kernel.ptx) {
        let Some(ptx) = ptx else { continue };
        match load(kernel.source, ptx) {
            Ok(module) => modules.push((element, module)),
            Err(failure) => {
                verdict.failure = Some(failure);
                return verdict;
            }
        }
    }
    let case = Case { task, modules, own: budget::own(kernel.source, task.reference), seed };
    for (stage, of) in STAGES {
        match of(&case) {
            Ok(said) => verdict.passed.push((stage, said)),
            Err(failure) => {
                verdict.failure = Some(*failure);
                return verdict;
            }
        }
    }
    verdict
}

/// A stage.
type Asks = fn(&Case) -> Said;

const STAGES: [(Stage, Asks); 3] =
    [(Stage::Right, right::right), (Stage::Clean, clean::clean), (Stage::Budget, budget::budget)];

fn load(source: &str, ptx: &str) -> Result<Module, Failure> {
    let mut module = Module::parse(ptx)
        .map_err(|error| Failure::new(Stage::Right, format!("its PTX cannot be run: {error}")))?;
    module.name_params_as_in(source);
    Ok(module)
}
