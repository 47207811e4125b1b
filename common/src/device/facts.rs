//! What is known of a device.

/// What a report says of the device, and what timing and steps ask of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Its name.
    pub name: String,
    /// Multiprocessors.
    pub sms: u32,
    /// Bytes of L2 cache; 0 if there is none.
    pub l2: u64,
    /// Bytes a second that the memory bus moves at its peak: 2 × memory clock × bus width.
    pub bus: Option<f64>,
    /// One line for people.
    pub line: String,
}
