//! What a reducer keeps for rows, between calls.

use std::cell::{OnceCell, RefCell};

use super::kernels::Family;
use crate::{cuda::State, modules::Loaded};

/// What a reducer has for rows.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(super) loaded: [OnceCell<Loaded>; Family::ALL.len()],
    /// Whether the device copies in the background.
    pub(super) copies: OnceCell<bool>,
    /// Mail, zeros between launches: as much as the largest call has taken.
    pub(super) state: RefCell<Option<State>>,
}
