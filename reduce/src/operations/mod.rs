//! The operations. Each operation has a file, which defines it twice: as instructions for a device,
//! and as functions for the host.
//!
//! To add an operation, write its file, and add it to the three lists below: `mod`, `use` and
//! `operations!`.

mod largest_magnitude;
mod max;
mod mean;
mod min;
mod norm;
mod sum;
mod sum_of_magnitudes;
mod sum_of_squares;

pub(crate) use largest_magnitude::LargestMagnitude;
pub(crate) use max::Max;
pub(crate) use mean::Mean;
pub(crate) use min::Min;
pub(crate) use norm::Norm;
pub(crate) use sum::Sum;
pub(crate) use sum_of_magnitudes::SumOfMagnitudes;
pub(crate) use sum_of_squares::SumOfSquares;

use crate::{
    Element, Error, Result,
    element::{Itself, Read},
    operate::{Instructions, Operate},
};

/// Defines the enum of all operations, and the macro that selects the type of an operation.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// The operation that reduces a slice.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Operation {
            $($(#[$doc])* $name,)+
        }

        impl Operation {
            /// All operations.
            pub const ALL: &'static [Operation] = &[$(Operation::$name,)+];

            /// Returns the instructions for a device.
            pub(crate) fn instructions(self) -> &'static Instructions {
                match self {
                    $(Operation::$name => &<$name as Operate>::DEVICE,)+
                }
            }
        }

        /// Evaluates an expression in which `$R` is the type of an operation.
        macro_rules! operate {
            ($operation:expr, $R:ident => $value:expr) => {
                match $operation {
                    $($crate::Operation::$name => {
                        type $R = $crate::operations::$name;
                        $value
                    })+
                }
            };
        }
        pub(crate) use operate;
    };
}

operations! {
    /// The sum.
    Sum,
    /// The smallest element that is a number.
    Min,
    /// The largest element that is a number.
    Max,
    /// The sum, divided by the number of elements and rounded once. Only for floats.
    Mean,
    /// The sum of the squares. Only for floats.
    SumOfSquares,
    /// The square root of the sum of the squares, which is the L2 norm. Only for floats.
    Norm,
    /// The sum of the magnitudes, which is the L1 norm. Only for floats.
    SumOfMagnitudes,
    /// The largest magnitude, ignoring NaNs, which is the maximum norm. Only for floats.
    LargestMagnitude,
}

impl Operation {
    /// Returns the operation's name, which is also the name of its functions.
    pub fn name(self) -> &'static str {
        self.instructions().name
    }

    /// Returns whether the operation is only for floats.
    pub fn needs_floats(self) -> bool {
        self.instructions().floats
    }

    /// Fails unless the operation is the sum, the maximum or the minimum. If every element is a one
    /// or a zero, these operations give the number of ones, whether any element is a one, and
    /// whether all elements are ones.
    pub(crate) fn check_truth(self) -> Result<()> {
        match self {
            Operation::Sum | Operation::Max | Operation::Min => Ok(()),
            _ => Err(Error::NotLogical { operation: self.name() }),
        }
    }

    /// Fails if the operation is only for floats and the elements are not floats.
    pub(crate) fn check<T: Element>(self) -> Result<()> {
        if T::FLOAT || !self.needs_floats() {
            return Ok(());
        }
        let elements = <T as Read<Itself>>::TYPES.name;
        Err(Error::OnlyFloats { operation: self.name(), elements })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that each operation is a single short file.
    #[test]
    fn operations_are_short_files() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operations");
        for operation in Operation::ALL {
            let path = folder.join(operation.name()).with_extension("rs");
            let lines = std::fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= 60, "{} has {lines} lines", path.display());
        }
    }
}
