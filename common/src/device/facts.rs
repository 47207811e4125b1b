//! Properties of a device.

use crate::plan::Chip;

/// The properties that reports, timing and steps need.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The device's name.
    pub name: String,
    /// The limits that plans use to size their launches.
    pub chip: Chip,
    /// The size of the L2 cache in bytes; 0 if there is none.
    pub l2: u64,
    /// The peak bandwidth of the memory bus, in bytes per second: 2 × memory clock × bus width.
    pub bus: Option<f64>,
    /// A description of the device in one line.
    pub line: String,
}
