//! The judge of the exercises: turns PTX and its source into a verdict.
//!
//! A [`Task`] states how its kernel is launched, which results the kernel must give, and its
//! budgets. [`judge()`] runs a kernel in the interpreter, on fresh random numbers, under many
//! orders of execution, and stops at the failure to fix first. The judge uses no files, threads,
//! clocks or processes, so it can run in a web page. Its callers compile the kernels and print the
//! verdicts.
//!
//! # Map
//!
//! * [`Task`] and [`TASKS`]: the exercises.
//! * [`Cost`]: a count, with advice on how to reduce it.
//! * `case`: a kernel and its task.
//! * `values`: the input of a kernel, which can be summed exactly.
//! * `scene`: launches a kernel several times over the same memory.
//! * `source`: checks the text of the kernel.
//! * `held`: compares a kernel's results with the exact ones.
//! * `right`, `clean` and `budget`: the three stages.
//! * `unusual`: very large and small elements, NaN and infinities.
//! * `long`: sizes beyond 32 bits.
//! * `constants`: launches that follow from the constants of the kernel.
//! * `patience`: finds loops that poll for a limited time.
//! * `lesson`: checks how the work is shared.
//! * `types`: types and function names that explain a failure.
//! * [`Verdict`]: the result.
#![forbid(unsafe_code)]

mod budget;
mod case;
mod clean;
mod constants;
mod cost;
mod held;
mod lesson;
mod long;
mod patience;
mod right;
mod scene;
mod source;
mod task;
mod tasks;
mod types;
mod unusual;
mod values;
mod verdict;

pub use cost::Cost;
pub use task::{Budget, Operation, Shape, Task};
pub use tasks::TASKS;
pub use types::OLD;
pub use verdict::{Failure, Stage, Verdict, paragraph};

use std::borrow::Cow;

use case::{Case, Said};
use numbers::Element;
use scene::Printed;
use simt::Module;

/// A compiled kernel.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    /// The CUDA source.
    pub source: &'a str,
    /// The PTX for each type, in the order of [`Element::ALL`]; `None` if unavailable, as for
    /// PTX that was edited by hand. The PTX for `float` is required.
    pub ptx: [Option<&'a str>; 3],
}

/// Judges a kernel. The same seed gives the same verdict.
pub fn judge(task: &'static Task, kernel: &Kernel<'_>, seed: u64) -> Verdict {
    let mut verdict = Verdict { task, seed, passed: Vec::new(), failure: None, printed: None };
    let mut modules = Vec::new();
    if let Err(failure) = source::source(kernel.source) {
        verdict.failure = Some(*failure);
        return verdict;
    }
    if kernel.ptx[0].is_none() {
        let said = "there is no PTX for `float`, the type whose counts are compared: compile the kernel for f32";
        verdict.failure = Some(Failure::new(Stage::Right, said.into()));
        return verdict;
    }
    for (element, ptx) in Element::ALL.into_iter().zip(kernel.ptx) {
        let Some(ptx) = ptx else { continue };
        match load(kernel.source, &volatile(task, ptx)) {
            Ok(module) => modules.push((element, module)),
            Err(failure) => {
                verdict.failure = Some(failure);
                return verdict;
            }
        }
    }
    let own = budget::own(kernel.source, task.reference);
    let printing = budget::printing(kernel.source);
    let case = Case { task, modules, own, printing, seed, prints: Printed::default() };
    let waits = task.copies || matches!(task.shape, Shape::Mailbox { .. });
    if let Some(line) = kernel.ptx[0].filter(|_| waits).and_then(patience::gives_up) {
        let said = format!(
            "the loop that polls at line {line} ends after a number of attempts: wait until the message or the copy is there, however long it takes"
        );
        verdict.failure = Some(Failure::new(Stage::Right, said).at([line]));
        return verdict;
    }
    for (stage, of) in STAGES {
        match of(&case) {
            Ok(said) => verdict.passed.push((stage, said)),
            Err(failure) => {
                let mut failure = types::named(task, kernel.source, *failure);
                let said = "; `volatile` keeps the compiler from omitting an access, but orders no threads";
                if failure.stage == Stage::Clean && weakens(task, kernel.ptx[0]) {
                    failure.said += said;
                }
                verdict.failure = Some(failure);
                break;
            }
        }
    }
    verdict.printed = case.prints.into_inner();
    verdict
}

/// Returns the PTX with volatile accesses as the exercise judges them. A message is one access, so a
/// volatile access is judged by its definition in PTX, as a relaxed one.
fn volatile<'a>(task: &Task, ptx: &'a str) -> Cow<'a, str> {
    if weakens(task, Some(ptx)) {
        ptx.replace(".volatile", "").into()
    } else if matches!(task.shape, Shape::Mailbox { .. }) && ptx.contains(".volatile") {
        ptx.replace(".volatile", ".relaxed.sys").into()
    } else {
        ptx.into()
    }
}

/// Returns whether volatile accesses are judged as ordinary ones, because the exercise is about
/// their order, which `volatile` does not ensure.
fn weakens(task: &Task, ptx: Option<&str>) -> bool {
    !task.volatile && ptx.is_some_and(|ptx| ptx.contains(".volatile"))
}

/// A stage of the judge.
type Asks = fn(&Case) -> Said;

const STAGES: [(Stage, Asks); 3] =
    [(Stage::Right, right::right), (Stage::Clean, clean::clean), (Stage::Budget, budget::budget)];

fn load(source: &str, ptx: &str) -> Result<Module, Failure> {
    let mut module = Module::parse(ptx).map_err(|error| {
        let failure = Failure::new(Stage::Right, format!("the PTX cannot be run: {error}"));
        types::without_mask(source).filter(|_| failure.said.contains(".sync")).unwrap_or(failure)
    })?;
    module.name_params_as_in(source);
    match own_state(ptx) {
        None => Ok(module),
        Some(name) => Err(Failure::new(
            Stage::Right,
            format!(
                "the variable `{name}` outside of the kernel keeps its value from one launch to the next, and launches that run at the same time share it: keep state in the memory that the host passes"
            ),
        )),
    }
}

/// Returns the name of a global variable that a kernel changes, or whose address it takes. The
/// compiler's own variables, such as the text of a `printf`, begin with `$` or two underscores.
fn own_state(ptx: &str) -> Option<&str> {
    let part = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
    let declared = ptx
        .lines()
        .filter_map(|line| line.trim_start_matches(".visible ").strip_prefix(".global "));
    let is_name = |word: &&str| word.starts_with(|c: char| part(c) && !c.is_ascii_digit());
    let mut names = declared.filter_map(|line| {
        let name = line.split([' ', '[', ';']).find(is_name)?;
        Some((name, line.contains('=')))
    });
    let changes = |name: &str, constant: bool| {
        ptx.lines().any(|line| {
            let line = line.trim_start();
            let by = |ops: &[&str]| ops.iter().any(|op| line.starts_with(op));
            (by(&["st.", "atom.", "red."]) || by(&["mov."]) && !constant)
                && line.split(|c| !part(c)).any(|word| word == name)
        })
    };
    let (name, _) = names.find(|(name, constant)| {
        !name.starts_with('$') && !name.starts_with("__") && changes(name, *constant)
    })?;
    Some(name)
}
