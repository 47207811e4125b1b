//! Finds the parameter names of a kernel in its source, because PTX only numbers them, and the
//! inline assembly in PTX.

use std::ops::Range;

/// Returns the lines of PTX, counted from 1, that compilers copied from inline assembly. Comments
/// mark them.
pub(crate) fn assembly(ptx: &str) -> Vec<Range<u32>> {
    let (mut found, mut start) = (Vec::new(), None);
    for (line, text) in (1..).zip(ptx.lines()) {
        match text.trim() {
            "// begin inline asm" => start = Some(line),
            "// end inline asm" => found.extend(start.take().map(|start| start..line)),
            _ => {}
        }
    }
    found
}

/// Returns the names of the parameters of an entry, in order; empty if the source cannot be parsed.
///
/// An entry that a macro defines has a name such as `reduce_##Block` in the source, and a name such
/// as `reduce_256` in the PTX.
pub fn parameters<'s>(source: &'s str, entry: &str) -> Vec<&'s str> {
    let kernels = source.split("__global__").skip(1).filter_map(kernel);
    // The number of characters that the name of a kernel has in common with the entry's name.
    let common = |name: &str| match name.split_once("##") {
        None => (name == entry).then_some(usize::MAX),
        Some((start, _)) => entry.starts_with(start).then_some(start.len()),
    };
    let matching = kernels.filter_map(|(name, list)| Some((common(name)?, list)));
    let list = matching.max_by_key(|(common, _)| *common).map_or("", |(_, list)| list);
    let parameters = list.split(',').map(|parameter| parameter.trim_end_matches([' ', '\\', '\n']));
    let last = |parameter: &'s str| {
        parameter.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
    };
    parameters.filter_map(last).filter(|name| !name.is_empty()).collect()
}

/// Returns the name and the parameter list of the kernel whose declaration is at the start of a
/// text.
fn kernel(text: &str) -> Option<(&str, &str)> {
    let mut rest = text;
    loop {
        let open = rest.find('(')?;
        let close = open + rest[open..].find(')')?;
        let name = rest[..open].trim_end().rsplit([' ', '\n', '\t', '*', '\\']).next()?;
        match name {
            "__launch_bounds__" => rest = &rest[close + 1..],
            _ => return Some((name, &rest[open + 1..close])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_names_of_the_source() {
        let plain = "extern \"C\" __global__ void reduce(const Element* in, Element* out,\n    unsigned long long n)\n{ }";
        assert_eq!(parameters(plain, "reduce"), ["in", "out", "n"]);
        assert!(parameters(plain, "other").is_empty());
        let made = "#define ENTRY(Block) \\\n extern \"C\" __global__ void __launch_bounds__(Block, 2048 / Block) reduce_##Block( \\\n const Element* in, Element* __restrict__ out) \\\n { }";
        assert_eq!(parameters(made, "reduce_256"), ["in", "out"]);
        let other = made.replace("Block)", "Loads)").replace("##Block", "##Loads");
        assert_eq!(parameters(&other, "reduce_8"), ["in", "out"]);
        let two =
            format!("{other}{}", other.replace("reduce_", "reduce_row_").replace("out", "rows"));
        assert_eq!(parameters(&two, "reduce_row_8"), ["in", "rows"]);
        assert_eq!(parameters(&two, "reduce_8"), ["in", "out"]);
        assert!(parameters("", "reduce").is_empty());
        assert!(parameters("__global__ void broken(", "broken").is_empty());
        assert!(parameters("__global__ void none()", "none").is_empty());
    }
}
