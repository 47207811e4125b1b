//! What is compiled: a source, for an architecture, with options.

/// The element types of the kernels: the name in `kernel.f32.ptx` and on the command line, and what
/// `Element` is in `kernel.cu`. In the order of every table.
pub const ELEMENTS: [(&str, &str); 3] = [("f32", "float"), ("i32", "int"), ("f64", "double")];

/// The architecture of a kernel that asks for none.
const OLDEST: u32 = 60;

/// What a compiler is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit<'a> {
    /// The CUDA source, with all that it includes.
    pub source: &'a str,
    /// The name that messages call it by.
    pub file: &'a str,
    /// The lowest architecture that it must run on: 70 for `compute_70`.
    pub architecture: u32,
    /// In NVRTC's words: `--define-macro=`, `--std=`, `--generate-line-info`. They are part of the
    /// stamp of committed PTX.
    pub options: Vec<String>,
}

impl<'a> Unit<'a> {
    /// A kernel of the workspace, for elements of a type that C++ calls `element`.
    pub fn of_kernel(source: &'a str, file: &'a str, element: &str) -> Unit<'a> {
        let options = vec![
            format!("--define-macro=Element={element}"),
            "--generate-line-info".into(),
            "--std=c++17".into(),
        ];
        Unit { source, file, architecture: needs(source), options }
    }
}

/// The architecture that a kernel asks for in a line `// Needs compute_70: why.`
fn needs(source: &str) -> u32 {
    let line = source.lines().find_map(|line| line.strip_prefix("// Needs compute_"));
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
