//! The kernels' PTX. Each type, operation and shape has its own module, so that the driver compiles only the
//! kernels that are called.

use crate::Shape;

/// The kernels of a type and operation, by the shape of the slice.
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
    /// Any shape of an unaligned slice.
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

/// A kernel, as PTX.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// The name of the entry point.
    pub name: &'static str,
    /// The PTX for compute capability 7 and newer.
    pub ptx_70: &'static str,
    /// The PTX for compute capability 9 and newer; empty if `ptx_70` is used there too.
    pub ptx_90: &'static str,
}

impl Kernel {
    /// Returns the PTX for a device of this major compute capability.
    pub fn ptx(&self, major: i32) -> &'static str {
        if major >= 9 && !self.ptx_90.is_empty() { self.ptx_90 } else { self.ptx_70 }
    }
}

/// The kernels of one type and operation, one for each family.
pub(crate) type Kernels = [Kernel; Family::ALL.len()];

/// Lists the kernels of a type. Its sums use the kernels of the type `$sums`, because unsigned
/// integers wrap to the same bits as signed ones. `plain` kernels are the same for all devices. On
/// Hopper, `redux` kernels (for 32-bit integers) use the `redux` instruction, and minima and maxima
/// of `halves` compare two elements in one instruction.
macro_rules! kernels {
    (plain $type:literal sums $sums:literal) => {
        [
            $crate::kernels::kernels!(@ old $sums "sum"),
            $crate::kernels::kernels!(@ old $type "min"),
            $crate::kernels::kernels!(@ old $type "max"),
        ]
    };
    (redux $type:literal sums $sums:literal) => {
        [
            $crate::kernels::kernels!(@ both $sums "sum"),
            $crate::kernels::kernels!(@ both $type "min"),
            $crate::kernels::kernels!(@ both $type "max"),
        ]
    };
    (halves $type:literal sums $sums:literal) => {
        [
            $crate::kernels::kernels!(@ old $sums "sum"),
            $crate::kernels::kernels!(@ both $type "min"),
            $crate::kernels::kernels!(@ both $type "max"),
        ]
    };
    (@ $modules:ident $type:literal $operation:literal) => {
        [
            $crate::kernels::kernels!(# $modules $type $operation "block_32"),
            $crate::kernels::kernels!(# $modules $type $operation "block_256"),
            $crate::kernels::kernels!(# $modules $type $operation "block_1024"),
            $crate::kernels::kernels!(# $modules $type $operation "spread"),
            $crate::kernels::kernels!(# $modules $type $operation "chunks"),
            $crate::kernels::kernels!(# $modules $type $operation "across"),
        ]
    };
    (# $modules:ident $type:literal $operation:literal $family:literal) => {
        $crate::kernels::Kernel {
            name: concat!($type, "_", $operation, "_", $family),
            ptx_70: $crate::kernels::kernels!(70 both $type $operation $family),
            ptx_90: $crate::kernels::kernels!(90 $modules $type $operation $family),
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

    /// Checks that equal kernels share one file. The mangled name of a shared variable contains the
    /// kernel's name and its length.
    #[test]
    fn no_two_ptx_files_differ_in_the_name_alone() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ptx");
        let mut seen = std::collections::HashMap::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            let name = file.split('.').next().unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.replace(&format!("{}{name}", name.len()), "@").replace(name, "@");
            // The target is ignored too, because a module for older devices runs on newer ones.
            let lines = text.lines().filter(|l| !l.starts_with("//") && !l.starts_with(".target"));
            let body: Vec<&str> = lines.collect();
            if let Some(other) = seen.insert(body.join("\n"), file.clone()) {
                panic!("{file} and {other} differ only in the name: use one file for both");
            }
        }
        assert!(seen.len() > 300, "{} PTX files", seen.len());
    }

    #[test]
    fn hopper_uses_its_own_module_if_there_is_one() {
        let both = Kernel { name: "", ptx_70: "seven", ptx_90: "nine" };
        let old = Kernel { ptx_90: "", ..both };
        assert_eq!([7, 8, 9, 10].map(|major| both.ptx(major)), ["seven", "seven", "nine", "nine"]);
        assert_eq!([8, 9].map(|major| old.ptx(major)), ["seven", "seven"]);
    }
}
