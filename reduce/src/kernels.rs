//! The kernels' PTX: a text for each type, operation and shape, so that the driver compiles no more
//! than is called.

use crate::Shape;

/// The kernels of a type and operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// One block of 32 threads.
    Block32,
    /// One block of 256 threads.
    Block256,
    /// One block of 1024 threads.
    Block1024,
    /// A few parts.
    Spread,
    /// Many parts.
    Chunks,
    /// Any shape of a slice that begins between two words.
    Across,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 6] = [
        Family::Block32,
        Family::Block256,
        Family::Block1024,
        Family::Spread,
        Family::Chunks,
        Family::Across,
    ];

    /// That of a shape, whose slice begins with a word or not.
    pub fn of(shape: Shape, aligned: bool) -> Family {
        match shape {
            _ if !aligned => Family::Across,
            Shape::Block { threads: 32 } => Family::Block32,
            Shape::Block { threads: 256 } => Family::Block256,
            Shape::Block { .. } => Family::Block1024,
            Shape::Spread { .. } => Family::Spread,
            Shape::Chunks { .. } => Family::Chunks,
        }
    }

    /// The most threads of a block.
    pub fn threads(self) -> u32 {
        match self {
            Family::Block32 => 32,
            Family::Block256 | Family::Spread => 256,
            Family::Chunks => 512,
            Family::Block1024 | Family::Across => 1024,
        }
    }
}

/// One kernel.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its entry point.
    pub name: &'static str,
    /// PTX for compute capability 7 and newer.
    pub ptx_70: &'static str,
    /// PTX for compute capability 9 and newer; empty where it would be the same.
    pub ptx_90: &'static str,
}

impl Kernel {
    /// The text for a device of that compute capability.
    pub fn ptx(&self, major: i32) -> &'static str {
        if major >= 9 && !self.ptx_90.is_empty() { self.ptx_90 } else { self.ptx_70 }
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
    (@ $texts:ident $type:literal $operation:literal) => {
        [
            $crate::kernels::kernels!(# $texts $type $operation "block_32"),
            $crate::kernels::kernels!(# $texts $type $operation "block_256"),
            $crate::kernels::kernels!(# $texts $type $operation "block_1024"),
            $crate::kernels::kernels!(# $texts $type $operation "spread"),
            $crate::kernels::kernels!(# $texts $type $operation "chunks"),
            $crate::kernels::kernels!(# $texts $type $operation "across"),
        ]
    };
    (# $texts:ident $type:literal $operation:literal $family:literal) => {
        $crate::kernels::Kernel {
            name: concat!($type, "_", $operation, "_", $family),
            ptx_70: $crate::kernels::kernels!(70 both $type $operation $family),
            ptx_90: $crate::kernels::kernels!(90 $texts $type $operation $family),
        }
    };
    (90 old $type:literal $operation:literal $family:literal) => { "" };
    ($architecture:literal both $type:literal $operation:literal $family:literal) => {
        include_str!(concat!("ptx/", $type, "_", $operation, "_", $family, ".", $architecture, ".ptx"))
    };
}
pub(crate) use kernels;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_between_two_words_has_a_kernel_of_its_own() {
        let words = 8;
        for (shape, family) in [
            (Shape::Block { threads: 32 }, Family::Block32),
            (Shape::Block { threads: 256 }, Family::Block256),
            (Shape::Block { threads: 1024 }, Family::Block1024),
            (Shape::Spread { parts: 8, words }, Family::Spread),
            (Shape::Chunks { parts: 32, words }, Family::Chunks),
        ] {
            assert_eq!([true, false].map(|a| Family::of(shape, a)), [family, Family::Across]);
        }
    }

    #[test]
    fn hopper_has_a_text_of_its_own_where_there_is_one() {
        let both = Kernel { name: "", ptx_70: "seven", ptx_90: "nine" };
        let old = Kernel { ptx_90: "", ..both };
        assert_eq!([7, 8, 9, 10].map(|major| both.ptx(major)), ["seven", "seven", "nine", "nine"]);
        assert_eq!([8, 9].map(|major| old.ptx(major)), ["seven", "seven"]);
    }
}
