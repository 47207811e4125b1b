//! PTX that is ready to be loaded, and the properties that can be read from its text.

#[cfg(not(target_family = "wasm"))]
pub use super::chosen::{by, of};
pub(crate) use simt::parameters;

/// PTX that is ready to be loaded.
#[derive(Clone, Debug)]
pub struct Ptx {
    /// The text of the PTX.
    pub text: String,
    /// The source of the kernel, for listings.
    pub source: String,
    /// The origin of the PTX, as reports show it: "committed", or the source and the compiler.
    pub origin: String,
    /// The file name, for errors.
    pub file: String,
}

/// Returns the word after a directive such as `.target`.
fn directive<'t>(ptx: &'t str, name: &str) -> &'t str {
    let line = ptx.lines().find_map(|line| line.trim_start().strip_prefix(name));
    line.and_then(|rest| rest.split([' ', '\t', ',']).find(|word| !word.is_empty()))
        .unwrap_or("unknown")
}

/// Returns the version on the `.version` line.
pub fn version(ptx: &str) -> &str {
    directive(ptx, ".version")
}

/// Returns the target on the `.target` line.
pub fn target(ptx: &str) -> &str {
    directive(ptx, ".target")
}

/// Returns the names of the kernels that can be launched.
pub fn entries(ptx: &str) -> Vec<String> {
    let after = ptx.split(".entry ").skip(1);
    let names = after.filter_map(|text| text.split(['(', ' ', '\n', '\t']).next());
    names.map(str::to_owned).collect()
}

/// Returns the size of each parameter of an entry point, in bytes; `None` for a parameter that is
/// not a number.
pub(crate) fn takes(text: &str, entry: &str) -> Vec<Option<u32>> {
    let starts = text.split(".entry ").skip(1).filter_map(|rest| rest.strip_prefix(entry));
    let lists = starts.filter_map(|rest| rest.trim_start().strip_prefix('('));
    let list = lists.filter_map(|rest| rest.split(')').next()).next().unwrap_or_default();
    list.split(',').map(str::trim).filter(|parameter| !parameter.is_empty()).map(bytes).collect()
}

/// Returns the size in bytes of a parameter such as `.param .u64 reduce_param_0`.
fn bytes(parameter: &str) -> Option<u32> {
    if parameter.contains('[') {
        return None;
    }
    let words = parameter.split_whitespace().filter_map(|word| word.strip_prefix(['.']));
    words
        .filter_map(|word| word.strip_prefix(['u', 's', 'b', 'f'])?.parse::<u32>().ok())
        .next()
        .map(|bits| bits / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use compiler::Stamp;

    #[test]
    fn version_and_target_are_found_below_a_stamp() {
        let text = Stamp::put("//\n// NVVM\n\n.version 8.4\n.target sm_60\n", "source", "NVRTC");
        assert_eq!((version(&text), target(&text)), ("8.4", "sm_60"));
        assert_eq!(version("nothing"), "unknown");
    }

    #[test]
    fn entry_points_are_found_with_and_without_parameters() {
        let text =
            ".visible .entry reduce(\n.param .u64 a\n)\n{\n}\n.entry two()\n{\n}\n.func three()\n";
        assert_eq!(entries(text), ["reduce", "two"]);
        assert_eq!(entries(".version 8.4\n"), Vec::<String>::new());
    }
}
