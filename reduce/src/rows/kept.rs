//! The state that a reducer keeps for rows between calls.

use std::cell::{OnceCell, RefCell};

use crate::cuda::State;

/// The memory for rows, and the properties of the device.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Whether the device supports asynchronous copies to shared memory.
    pub(super) copies: OnceCell<bool>,
    /// The message slots, which are zero between launches. There are at least as many slots as the
    /// largest call has used.
    pub(super) state: RefCell<Option<State>>,
    /// The queue for the chunks of ragged rows, which is at least as long as the largest call has
    /// needed.
    pub(crate) items: RefCell<Option<State>>,
}
