//! Properties of a device.

use crate::plan::Chip;

/// The properties that reports, timing and steps need.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Its name.
    pub name: String,
    /// The limits that plans size their launches by.
    pub chip: Chip,
    /// Bytes of L2 cache; 0 if there is none.
    pub l2: u64,
    /// Peak bandwidth of the memory bus, in bytes per second: 2 × memory clock × bus width.
    pub bus: Option<f64>,
    /// A one-line description.
    pub line: String,
}
