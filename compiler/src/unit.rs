//! Compilation units. A unit is a source, the architecture for which it is compiled, and options.

use crate::comments::NEEDS;

/// The element types of the kernels, in the order used in every table. Each entry consists of the
/// name that is used in `kernel.f32.ptx` and on the command line, and the definition of `Element`
/// in `kernel.cu`.
pub const ELEMENTS: [(&str, &str); 3] = [("f32", "float"), ("i32", "int"), ("f64", "double")];

/// The architecture for a kernel that does not name one.
const OLDEST: u32 = 60;

/// The input of a compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit<'a> {
    /// The CUDA source, with its included files.
    pub source: &'a str,
    /// The file name in the compiler's messages.
    pub file: &'a str,
    /// The oldest architecture on which the code must run; 70 means `compute_70`.
    pub architecture: u32,
    /// The options in NVRTC's form: `--define-macro=`, `--std=`, `--generate-line-info`. The
    /// options are part of the stamp on committed PTX.
    pub options: Vec<String>,
}

impl<'a> Unit<'a> {
    /// Creates the unit for a kernel in the workspace, for elements of the C++ type `element`.
    pub fn of_kernel(source: &'a str, file: &'a str, element: &str) -> Unit<'a> {
        let options = vec![
            format!("--define-macro=Element={element}"),
            "--generate-line-info".into(),
            "--std=c++17".into(),
        ];
        Unit { source, file, architecture: needs(source), options }
    }
}

/// Returns the architecture that a kernel names in a line such as `// Needs compute_70: why.`
fn needs(source: &str) -> u32 {
    let line = source.lines().find_map(|line| line.strip_prefix(NEEDS));
    let digits = line.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_names_the_architecture_that_it_needs() {
        assert_eq!(needs("// What.\n// Costs.\nextern"), 60);
        assert_eq!(needs("// What.\n// Costs.\n// Needs compute_70: acquire and release.\n"), 70);
        assert_eq!(needs("// Needs compute_90\n"), 90);
        assert_eq!(needs("// Needs compute_xx\n"), 60);
    }
}
