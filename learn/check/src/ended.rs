//! The outcome of a call.

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The call succeeded.
    Well,
    /// The kernel failed.
    Failed,
}
