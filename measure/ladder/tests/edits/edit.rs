//! An edit, and what the output must contain.

/// An edit to a step (v3 by default).
pub(crate) struct Edit {
    /// The name of the file with the edited kernel.
    pub(crate) name: &'static str,
    /// The replacements, each of which must match once.
    pub(crate) edits: &'static [(&'static str, &'static str)],
    /// The number of elements.
    pub(crate) n: &'static str,
    /// The expected exit code: 0 verified, 1 wrong, 2 not run.
    pub(crate) code: i32,
    /// Texts that the output must contain. A text with `|` lists alternatives, because the outputs
    /// of NVRTC and clang differ.
    pub(crate) said: &'static [&'static str],
}

/// A special value of `code`: the kernel is verified if CUDA's headers are installed; otherwise it
/// does not compile.
pub(crate) const HEADER: i32 = -1;

/// A special value of `code`: the kernel is rejected, or verified if the compiler removes the
/// rejected code. clang 19, for example, removes the allocation.
pub(crate) const REMOVED: i32 = -2;
