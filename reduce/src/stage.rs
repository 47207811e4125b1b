//! The kernels' PTX of a sum over several GPUs: a text for each type, operation and stage.

use crate::Kernel;

/// A kernel of several GPUs' sum: of slices whose shape is [`Shape::Chunks`](crate::Shape::Chunks), but
/// the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The sums of a shard's parts, in a block behind a stamp.
    Partials,
    /// The tree over the blocks of all ranks.
    Finish,
    /// Both in one launch, and the mail between the GPUs of one host.
    Exchange,
    /// All of a slice in any other shape, whose elements lie with their ranks: too few for parts that
    /// would be worth their own launch. Its blocks are as large as the shape's.
    Elements,
}

impl Stage {
    /// All of them.
    pub const ALL: [Stage; 4] = [Stage::Partials, Stage::Finish, Stage::Exchange, Stage::Elements];

    /// Threads of a block, of those that have parts.
    pub const THREADS: u32 = 512;
}

/// The stages of one type and operation.
pub(crate) type Stages = [Kernel; Stage::ALL.len()];

/// The stages of a type; the words are those of [`kernels`](crate::kernels::kernels).
macro_rules! stages {
    ($kind:ident $type:literal) => {
        [
            $crate::stage::stages!($kind $type "sum"),
            $crate::stage::stages!($kind $type "min"),
            $crate::stage::stages!($kind $type "max"),
        ]
    };
    (plain $type:literal $operation:literal) => { $crate::stage::stages!(@ old $type $operation) };
    (words $type:literal $operation:literal) => { $crate::stage::stages!(@ both $type $operation) };
    (halves $type:literal "sum") => { $crate::stage::stages!(@ old $type "sum") };
    (halves $type:literal $operation:literal) => { $crate::stage::stages!(@ both $type $operation) };
    (@ $texts:ident $type:literal $operation:literal) => {
        [
            $crate::kernels::kernels!(# $texts $type $operation "partials"),
            $crate::kernels::kernels!(# $texts $type $operation "finish"),
            $crate::kernels::kernels!(# $texts $type $operation "exchange"),
            $crate::kernels::kernels!(# $texts $type $operation "elements"),
        ]
    };
}
pub(crate) use stages;
