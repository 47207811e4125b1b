//! All runs beyond the requested one.

use super::{
    extra::{Asked, wrong_elsewhere},
    extremes::wrong_on_extremes,
    job::Job,
    long::wrong_on_long_inputs,
    many::wrong_with_many_sums,
    often::wrong_in_later_launches,
    orders::wrong_in_other_orders,
    rounding::wrong_rounding,
    special::wrong_on_specials,
};
use crate::{
    Result,
    sum::{Mismatch, Scalar},
};

/// Performs the extra runs of a step, until one has a fault. Returns a description of the fault.
pub(super) fn wrong_beyond<T: Scalar>(
    asked: Asked<'_, T>,
    job: &Job<'_>,
) -> Result<Option<Box<Mismatch>>> {
    let faults: &[&dyn Fn() -> Result<Option<Box<Mismatch>>>] = &[
        &|| wrong_elsewhere(asked),
        &|| wrong_on_extremes(asked),
        &|| wrong_on_specials(asked, job.plan()),
        &|| wrong_rounding(asked, job.plan()),
        &|| wrong_in_later_launches(asked, job.plan()),
        &|| wrong_in_other_orders(asked, job.plan()),
        &|| wrong_with_many_sums(asked, job.plan()),
        #[cfg(not(target_family = "wasm"))]
        &|| super::types::wrong_in_other_types(asked),
        &|| wrong_on_long_inputs(asked, &job.program, job.problem.chip),
        #[cfg(not(target_family = "wasm"))]
        &|| super::growth::wrong_growth(asked, &job.program, job.problem.chip),
    ];
    first(faults)
}

/// Returns the first fault.
pub(super) fn first(
    faults: &[&dyn Fn() -> Result<Option<Box<Mismatch>>>],
) -> Result<Option<Box<Mismatch>>> {
    for fault in faults {
        if let Some(wrong) = fault()? {
            return Ok(Some(wrong));
        }
    }
    Ok(None)
}
