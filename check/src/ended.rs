//! How it went.

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As it should.
    Well,
    /// With a kernel that is to be mended.
    Failed,
}
