//! The PTX of the kernels for sums over several GPUs. Each type, operation and stage has its own
//! module.

use crate::Kernel;

/// A kernel for sums over several GPUs. All stages except [`Stage::Elements`] are for slices whose
/// shape is [`Shape::Chunks`](crate::Shape::Chunks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Computes the sums of a shard's chunks, and stores them after a stamp.
    Partials,
    /// Combines the sums of all ranks in the order of the tree.
    Finish,
    /// Does both in one launch, with messages between the GPUs in one host.
    Exchange,
    /// Adds a slice of any other shape, whose elements are read rank by rank, because such a slice
    /// is too short to justify a launch on each rank. The blocks are as large as those for the
    /// shape.
    Elements,
}

impl Stage {
    /// All stages.
    pub const ALL: [Stage; 4] = [Stage::Partials, Stage::Finish, Stage::Exchange, Stage::Elements];

    /// The number of threads in a block, in the stages that work on chunks.
    pub const THREADS: u32 = 512;
}

/// The stages of one type and operation.
pub(crate) type Stages = [Kernel; Stage::ALL.len()];

/// Lists the stages of a type, with the kinds and types of [`kernels`](crate::kernels::kernels).
/// `finish` combines sums, which are floats if the elements are halves.
macro_rules! stages {
    (plain $type:literal sums $sums:literal) => {
        [
            $crate::stage::stages!(@ old $sums "sum" old $sums),
            $crate::stage::stages!(@ old $type "min" old $type),
            $crate::stage::stages!(@ old $type "max" old $type),
        ]
    };
    (redux $type:literal sums $sums:literal) => {
        [
            $crate::stage::stages!(@ both $sums "sum" both $sums),
            $crate::stage::stages!(@ both $type "min" both $type),
            $crate::stage::stages!(@ both $type "max" both $type),
        ]
    };
    (halves $type:literal sums $sums:literal) => {
        [
            $crate::stage::stages!(@ old $sums "sum" old "f32"),
            $crate::stage::stages!(@ both $type "min" old "f32"),
            $crate::stage::stages!(@ both $type "max" old "f32"),
        ]
    };
    (@ $modules:ident $type:literal $operation:literal $finish:ident $finished:literal) => {
        [
            $crate::kernels::kernels!(# $modules $type $operation "partials"),
            $crate::kernels::kernels!(# $finish $finished $operation "finish"),
            $crate::kernels::kernels!(# $modules $type $operation "exchange"),
            $crate::kernels::kernels!(# $modules $type $operation "elements"),
        ]
    };
}
pub(crate) use stages;
