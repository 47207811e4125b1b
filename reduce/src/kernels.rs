//! The kernels' PTX: a text for each type, operation and shape, so that the driver compiles no more
//! than is called.

/// The shapes as kernels know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// One block of 256 threads.
    Block256,
    /// One block of 512 threads.
    Block512,
    /// A few parts in a cluster, from compute capability 9 on.
    Cluster,
    /// A few parts, and mail.
    Mail,
    /// Many parts, and mail.
    Chunks,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 5] =
        [Family::Block256, Family::Block512, Family::Cluster, Family::Mail, Family::Chunks];

    /// Threads of a block.
    pub fn threads(self) -> u32 {
        match self {
            Family::Block256 | Family::Cluster | Family::Mail => 256,
            Family::Block512 => 512,
            Family::Chunks => 1024,
        }
    }
}

/// One kernel.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its entry point.
    pub name: &'static str,
    /// PTX for compute capability 7 and newer; empty for a cluster.
    pub ptx_70: &'static str,
    /// PTX for compute capability 9 and newer; empty where it would be the same.
    pub ptx_90: &'static str,
}

impl Kernel {
    /// The text for a device of that compute capability, if there is one.
    pub fn ptx(&self, major: i32) -> Option<&'static str> {
        let young = Some(self.ptx_90).filter(|_| major >= 9);
        [young, Some(self.ptx_70)].into_iter().flatten().find(|text| !text.is_empty())
    }
}

/// The kernels of one type and operation, one for each family.
pub(crate) type Kernels = [Kernel; Family::ALL.len()];

/// The kernels of a type. `plain` ones are the same for all devices; those of 32-bit `words` have
/// Hopper's warp reductions, and minima and maxima of `halves` compare two in one instruction.
macro_rules! kernels {
    (plain $type:literal) => {
        [
            $crate::kernels::kernels!(@ old $type "sum"),
            $crate::kernels::kernels!(@ old $type "min"),
            $crate::kernels::kernels!(@ old $type "max"),
        ]
    };
    (words $type:literal) => {
        [
            $crate::kernels::kernels!(@ both $type "sum"),
            $crate::kernels::kernels!(@ both $type "min"),
            $crate::kernels::kernels!(@ both $type "max"),
        ]
    };
    (halves $type:literal) => {
        [
            $crate::kernels::kernels!(@ old $type "sum"),
            $crate::kernels::kernels!(@ both $type "min"),
            $crate::kernels::kernels!(@ both $type "max"),
        ]
    };
    (@ $most:ident $type:literal $operation:literal) => {
        [
            $crate::kernels::kernels!(# $most $type $operation "block_256"),
            $crate::kernels::kernels!(# $most $type $operation "block_512"),
            $crate::kernels::kernels!(# young $type $operation "cluster"),
            $crate::kernels::kernels!(# old $type $operation "mail"),
            $crate::kernels::kernels!(# $most $type $operation "chunks"),
        ]
    };
    (# $which:ident $type:literal $operation:literal $family:literal) => {
        $crate::kernels::Kernel {
            name: concat!("reduce_", $type, "_", $operation, "_", $family),
            ptx_70: $crate::kernels::kernels!(70 $which $type $operation $family),
            ptx_90: $crate::kernels::kernels!(90 $which $type $operation $family),
        }
    };
    (70 young $type:literal $operation:literal $family:literal) => { "" };
    (90 old $type:literal $operation:literal $family:literal) => { "" };
    ($architecture:literal $which:ident $type:literal $operation:literal $family:literal) => {
        include_str!(concat!("ptx/", $type, "_", $operation, "_", $family, ".", $architecture, ".ptx"))
    };
}
pub(crate) use kernels;
