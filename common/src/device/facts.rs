//! What is known of a device.

use crate::plan::Chip;

/// What a report says of the device, and what timing and steps ask of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Its name.
    pub name: String,
    /// What plans size their launches by.
    pub chip: Chip,
    /// Bytes of L2 cache; 0 if there is none.
    pub l2: u64,
    /// Bytes a second that the memory bus moves at its peak: 2 × memory clock × bus width.
    pub bus: Option<f64>,
    /// One line for people.
    pub line: String,
}
