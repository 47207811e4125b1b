//! The observer that programs use to run kernels, and the interpreter compiled for it.
//!
//! [`Gpu::launch`] is generic, so every crate that calls it with its own observer compiles the
//! interpreter again. [`Gpu::launch_watched`] is compiled only once, here, with optimization.

use crate::{
    Counters, Error, Gpu, Launch, Module,
    exec::IF_MEANT,
    model::Space,
    observe::{Fault, Finding, Memory, Prints, Races, State, Sync, Trace, Widened},
};

/// All observers of a launch: counts, printed output, the three checks, a trace, and the check of
/// state that launches leave behind. Each observer is optional.
pub type Watch = (
    Option<(Counters, Prints)>,
    Option<Races>,
    Option<Memory>,
    Option<Sync>,
    (Option<Trace>, Option<State>, Option<Widened>),
);

/// Returns a [`Watch`] with only the three checks.
pub fn checks() -> Watch {
    (None, Some(Races::new()), Some(Memory::new()), Some(Sync::new()), Default::default())
}

/// Returns a [`Watch`] that only counts. [`counted`] returns its counts.
pub fn counting(counters: Counters) -> Watch {
    (Some((counters, Prints::new())), None, None, None, Default::default())
}

/// Returns a [`Watch`] that only collects the largest integers that are widened to 64 bits.
pub fn widening() -> Watch {
    (None, None, None, None, (None, None, Some(Widened::new())))
}

/// Returns the counts of a [`Watch`], which are zero if it does not count.
pub fn counted(watch: Watch) -> Counters {
    watch.0.unwrap_or_default().0
}

/// Returns the findings of the checks in a [`Watch`], with probable causes before their effects:
/// variables that were never set, then divergent barriers, then memory that was never written, then
/// all others.
pub fn findings(watch: &Watch) -> Vec<Finding> {
    let (_, races, memory, sync, _) = watch;
    let races = races.as_ref().map(Races::findings);
    let memory = memory.as_ref().map(Memory::findings);
    let sync = sync.as_ref().map(Sync::findings);
    let mut all: Vec<Finding> =
        [races, memory, sync].into_iter().flatten().flatten().cloned().collect();
    let raced: Vec<Finding> = all.iter().filter(|f| f.fault == Fault::DataRace).cloned().collect();
    all.sort_by_key(|finding| match finding.fault {
        Fault::Unset => 0,
        Fault::DivergentBarrier => 1,
        // A thread may read an element too early, which the race check reports.
        Fault::Uninitialized
            if finding.space != Some(Space::Global)
                && raced.iter().all(|race| race.array() != finding.array()) =>
        {
            2
        }
        _ => 3,
    });
    all
}

/// Returns the first finding that may explain why a kernel stopped, if there is one.
pub fn cause(watch: &Watch) -> Option<Finding> {
    findings(watch).into_iter().find(Finding::is_cause)
}

/// Removes from a deadlock the advice to wait for another parity, because what the checks found may
/// be the cause.
fn unadvised(mut error: Error) -> Error {
    if let Error::Trap(trap) = &mut error
        && let Some(advice) = trap.detail.find(&format!("; {IF_MEANT}"))
    {
        trap.detail.truncate(advice);
    }
    error
}

impl Gpu {
    /// Runs a kernel to completion, with or without observers.
    ///
    /// # Errors
    /// Fails as [`Gpu::launch`] does.
    pub fn launch_watched(
        &mut self,
        module: &Module,
        launch: &Launch<'_>,
        watch: Option<&mut Watch>,
    ) -> Result<(), Error> {
        match watch {
            Some(watch) => {
                let ran = self.launch(module, launch, &mut *watch);
                ran.map_err(|error| if cause(watch).is_some() { unadvised(error) } else { error })
            }
            // The interpreter without an observer is faster, but it is a second copy of the code.
            // Web pages download the code, so for them only one copy is compiled.
            None if cfg!(target_family = "wasm") => {
                self.launch(module, launch, &mut Watch::default())
            }
            None => self.launch(module, launch, &mut ()),
        }
    }
}
