//! The kernels for reductions over several GPUs.

/// A kernel for sums over several GPUs. All stages except [`Stage::Elements`] are for slices whose
/// shape is [`Shape::Chunks`](crate::Shape::Chunks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Computes the sums of a shard's chunks, and stores them after a stamp.
    Partials,
    /// Combines the sums of all ranks in the order of the tree.
    Finish,
    /// Computes and combines the sums in one launch, with messages between the GPUs of one host.
    Exchange,
    /// Adds a slice of any other shape, whose elements are read rank by rank, because such a slice
    /// is too short to justify a launch on each rank. The blocks have the size that the shape
    /// prescribes.
    Elements,
}

impl Stage {
    /// All stages.
    pub const ALL: [Stage; 4] = [Stage::Partials, Stage::Finish, Stage::Exchange, Stage::Elements];

    /// Returns the part of a kernel's name that stands for this stage.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Stage::Partials => "partials",
            Stage::Finish => "finish",
            Stage::Exchange => "exchange",
            Stage::Elements => "elements",
        }
    }

    /// The number of threads in a block, in the stages that work on chunks.
    pub const THREADS: u32 = 512;
}
