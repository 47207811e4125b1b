//! Steps that a GPU cannot run.

use crate::{Error, Result};

/// A step that the GPU cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The step's name.
    pub step: &'static str,
    /// The missing property, such as `sm_90`.
    pub needs: String,
    /// The error message.
    pub why: String,
}

impl Refusal {
    /// Converts an error caused by a limit of the GPU to a refusal. Fails with any other error,
    /// unchanged.
    pub fn of(step: &'static str, error: Error) -> Result<Refusal> {
        let needs = match &error {
            Error::OldGpu { target, .. } => target.clone(),
            Error::Clusters { needs, .. } => format!("clusters of {needs}"),
            _ => return Err(error),
        };
        Ok(Refusal { step, needs, why: error.to_string() })
    }
}
