//! The kernels. Each type, operation and shape has its own PTX module, so that the driver compiles
//! only the kernels that are called.

use std::borrow::Cow;

use crate::{
    element::{Element, Itself, Read},
    join::join,
    operate::Instructions,
    operations::Operation,
    rows::kernels as rows,
    shape::Shape,
    texts::Texts,
    types::Types,
};

/// The kernels of a type and operation, for each shape of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// One block of 32 threads.
    Block32,
    /// One block of 256 threads.
    Block256,
    /// One block of 1024 threads.
    Block1024,
    /// A few chunks.
    Spread,
    /// Many chunks.
    Chunks,
    /// An unaligned slice of any shape.
    Across,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 6] = [
        Family::Block32,
        Family::Block256,
        Family::Block1024,
        Family::Spread,
        Family::Chunks,
        Family::Across,
    ];

    /// Returns the family of a shape, for an aligned or an unaligned slice.
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

    /// Returns the part of a kernel's name that stands for this family.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Family::Block32 => "block_32",
            Family::Block256 => "block_256",
            Family::Block1024 => "block_1024",
            Family::Spread => "spread",
            Family::Chunks => "chunks",
            Family::Across => "across",
        }
    }

    /// Returns the maximum number of threads in a block.
    pub fn threads(self) -> u32 {
        match self {
            Family::Block32 => 32,
            Family::Block256 | Family::Spread => 256,
            Family::Chunks => 512,
            Family::Block1024 | Family::Across => 1024,
        }
    }
}

/// A kernel.
#[derive(Clone, Copy, Debug)]
pub struct Kernel(Source);

/// The source of a kernel's PTX.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The name of the entry point, and the PTX for all devices.
    Whole(&'static str, &'static str),
    /// The template of a shape, which is joined with the instructions of an operation.
    Joined {
        shape: &'static str,
        text: &'static str,
        of: (&'static Instructions, &'static Types),
        /// The template for pairs of halves, and the PTX type of a half. Devices of compute
        /// capability 8 and newer combine two halves with one instruction.
        pairs: Option<(&'static str, &'static str)>,
    },
}

impl Kernel {
    /// Returns a kernel whose PTX has no placeholders.
    pub(crate) const fn whole(name: &'static str, ptx: &'static str) -> Kernel {
        Kernel(Source::Whole(name, ptx))
    }

    /// Returns the kernel of an operation for a type. `text` returns the kernel's template for a
    /// layout.
    pub(crate) fn joined(
        shape: &'static str,
        of: (&'static Instructions, &'static Types),
        text: impl Fn(&'static Texts) -> &'static str,
    ) -> Kernel {
        let (operation, types) = of;
        let pairs = types.pairs.filter(|_| operation.pairs.is_some());
        let pairs = pairs.map(|(texts, half)| (text(texts), half));
        let pairs = pairs.filter(|(text, _)| !text.is_empty());
        Kernel(Source::Joined { shape, text: text(types.texts), of, pairs })
    }

    /// Like [`joined`](Kernel::joined), but never combines elements in pairs.
    pub(crate) fn single(
        shape: &'static str,
        of: (&'static Instructions, &'static Types),
        text: impl Fn(&'static Texts) -> &'static str,
    ) -> Kernel {
        Kernel(Source::Joined { shape, text: text(of.1.texts), of, pairs: None })
    }

    /// Returns the type, the operation and the shape, which identify the kernel.
    pub(crate) fn id(&self) -> [&'static str; 3] {
        match self.0 {
            Source::Whole(name, _) => ["", "", name],
            Source::Joined { shape, of: (operation, types), .. } => {
                [types.name, operation.name, shape]
            }
        }
    }

    /// Returns numbers that identify a joined kernel within this process. These numbers are faster
    /// to compare than names.
    pub(crate) fn key(&self) -> [usize; 3] {
        match self.0 {
            Source::Whole(name, _) => [name.as_ptr().addr(), 0, 0],
            Source::Joined { text, of: (operation, types), .. } => [
                text.as_ptr().addr(),
                std::ptr::from_ref(operation).addr(),
                std::ptr::from_ref(types).addr(),
            ],
        }
    }

    /// Returns the name of the entry point.
    pub fn name(&self) -> String {
        match self.id() {
            ["", "", name] => name.to_owned(),
            parts => parts.join("_"),
        }
    }

    /// Returns the PTX for a device of this major compute capability.
    pub fn ptx(&self, major: i32) -> Cow<'static, str> {
        match self.0 {
            Source::Whole(_, ptx) => Cow::Borrowed(ptx),
            Source::Joined { text, of, pairs, .. } => {
                let modern = major >= 8;
                let (text, half) = match pairs.filter(|_| modern) {
                    Some((text, half)) => (text, Some(half)),
                    None => (text, None),
                };
                Cow::Owned(join(text, &self.name(), of, half, modern))
            }
        }
    }
}

/// Returns the kernel for a type, operation and family.
#[doc(hidden)]
pub fn kernel<T: Element>(operation: Operation, family: Family) -> Kernel {
    kernel_of::<T, Itself>(operation, family)
}

/// Returns the kernel that reduces rows, for a type, operation and family.
#[doc(hidden)]
pub fn rows_kernel<T: Element>(operation: Operation, family: rows::Family) -> Kernel {
    rows_kernel_of::<T, Itself>(operation, family)
}

/// Returns the kernel for elements that are converted as `W` specifies.
#[doc(hidden)]
pub fn kernel_of<T: Read<W>, W>(operation: Operation, family: Family) -> Kernel {
    let of = (operation.instructions(), T::TYPES);
    Kernel::joined(family.name(), of, |texts| texts.slices[family as usize])
}

/// Returns the kernel for rows of elements that are converted as `W` specifies.
#[doc(hidden)]
pub fn rows_kernel_of<T: Read<W>, W>(operation: Operation, family: rows::Family) -> Kernel {
    let of = (operation.instructions(), T::TYPES);
    Kernel::joined(family.name(), of, |texts| texts.rows[family.index()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unaligned_slice_has_its_own_kernel() {
        let vectors = 8;
        for (shape, family) in [
            (Shape::Block { threads: 32 }, Family::Block32),
            (Shape::Block { threads: 256 }, Family::Block256),
            (Shape::Block { threads: 1024 }, Family::Block1024),
            (Shape::Spread { chunks: 8, vectors }, Family::Spread),
            (Shape::Chunks { chunks: 32, vectors }, Family::Chunks),
        ] {
            assert_eq!([true, false].map(|a| Family::of(shape, a)), [family, Family::Across]);
        }
    }

    #[test]
    fn newer_devices_use_instructions_of_their_own() {
        let sum = kernel::<u32>(Operation::Sum, Family::Chunks);
        assert_eq!(sum.name(), "u32_sum_chunks");
        let has = |kernel: Kernel, major, what: &str| kernel.ptx(major).contains(what);
        assert_eq!([7, 8, 9].map(|major| has(sum, major, "redux.sync.add")), [false, true, true]);
        assert_eq!([7, 8].map(|major| has(sum, major, ".target sm_80\n")), [false, true]);
        let max = kernel::<half::bf16>(Operation::Max, Family::Block32);
        assert_eq!([7, 8, 9].map(|major| has(max, major, "max.bf16x2")), [false, true, true]);
        // Magnitudes are computed one element at a time.
        let magnitude = kernel::<half::bf16>(Operation::LargestMagnitude, Family::Block32);
        assert!(!has(magnitude, 9, "bf16x2") && has(magnitude, 9, "abs.f32"));
    }

    /// Checks that no placeholder is left in any kernel, for each operation, type and shape.
    #[test]
    fn every_placeholder_is_replaced() {
        fn check<T: Element>() {
            for operation in Operation::ALL.iter().filter(|o| T::FLOAT || !o.needs_floats()) {
                let slices = Family::ALL.map(|family| kernel::<T>(*operation, family));
                let rows = rows::Family::ALL.map(|family| rows_kernel::<T>(*operation, family));
                for kernel in slices.into_iter().chain(rows) {
                    for major in [7, 9] {
                        let ptx = kernel.ptx(major);
                        let lines = ptx.lines().filter(|line| !line.starts_with("//"));
                        for line in lines {
                            let upper = line.starts_with(|c: char| c.is_ascii_uppercase());
                            let left = ["KERNEL", " $0", "13980", "60045"];
                            let left = upper || left.iter().any(|left| line.contains(left));
                            assert!(!left, "{}: {line}", kernel.name());
                        }
                        assert!(ptx.contains(&format!(".entry {}(", kernel.name())));
                    }
                }
            }
        }
        check::<f32>();
        check::<f64>();
        check::<half::bf16>();
        check::<u32>();
        check::<i64>();
        check::<bool>();
        check::<i16>();
    }
}
