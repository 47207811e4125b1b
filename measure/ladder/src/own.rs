//! A reader's own kernel as a step, which is launched in the same way as an existing step.

use std::{borrow::Cow, path::Path};

use common::{Error, Kernel, Result, Step};

use crate::names::find;

/// Returns whether a word names the file of a kernel instead of a step.
fn is_file(text: &str) -> bool {
    [".cu", ".ptx"].iter().any(|end| text.ends_with(end))
}

/// Returns the reader's kernel, if one of the two words names a file. The other word must name a
/// step, and the kernel is launched like that step.
pub(crate) fn between(
    steps: &[&'static Step],
    first: &str,
    second: &str,
) -> Result<Option<&'static Step>> {
    let (file, other) = match (is_file(first), is_file(second)) {
        (false, false) => return Ok(None),
        (true, false) => (first, second),
        (false, true) => (second, first),
        (true, true) => {
            return Err(Error::Usage(format!(
                "`{first}` and `{second}` are both files, but a file does not define its launch: compare each file with the step that it was made from"
            )));
        }
    };
    Ok(Some(with_kernel(step(steps, other)?, &name(file), Path::new(file))))
}

/// Returns a word as it is displayed; a file is displayed without its folders.
pub(crate) fn name(word: &str) -> Cow<'_, str> {
    match Path::new(word).file_name().filter(|_| is_file(word)) {
        Some(name) => name.to_string_lossy(),
        None => word.into(),
    }
}

/// Returns the step with this name, or the only step with this prefix.
pub(crate) fn step(steps: &[&'static Step], text: &str) -> Result<&'static Step> {
    let names: Vec<String> = steps.iter().map(|step| step.name.to_owned()).collect();
    let name = find(&names, text)?;
    Ok(steps.iter().find(|step| step.name == name).expect("every name is that of a step"))
}

/// Returns the same step with the kernel from a file, which contains CUDA C++ (`.cu`) or PTX. The
/// step is leaked, because steps have a static lifetime.
pub(crate) fn with_kernel(base: &'static Step, name: &str, file: &Path) -> &'static Step {
    let path = file.display().to_string().leak();
    Box::leak(Box::new(Step {
        name: name.to_owned().leak(),
        cures: base.cures,
        costs: base.costs,
        kernel: Kernel { path, source: "", includes: base.kernel.includes, ptx: ["", "", ""] },
        blocks: base.blocks,
        aligned: base.aligned,
        fixed_order: base.fixed_order,
        plan: base.plan,
        variants: &[],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::STEPS;

    #[test]
    fn a_file_is_launched_like_the_step_beside_it() {
        for (first, second) in [("v3", "a/my.cu"), ("a/my.cu", "v3")] {
            let own = between(&STEPS, first, second).unwrap().unwrap();
            assert_eq!((own.name, own.kernel.path), ("my.cu", "a/my.cu"));
            assert_eq!([name("a/my.cu"), name("v0-naive/and")], ["my.cu", "v0-naive/and"]);
            assert!(std::ptr::fn_addr_eq(own.plan, STEPS[3].plan));
        }
        // A step's promise of the same bits holds for the reader's kernel too.
        let promises = |step| between(&STEPS, step, "my.cu").unwrap().unwrap().fixed_order;
        assert_eq!([promises("v9"), promises("v10")], [false, true]);
        assert!(between(&STEPS, "v2", "v3").unwrap().is_none());
        for (first, second, why) in [
            ("a.cu", "b.ptx", "both files"),
            ("a.cu", "v", "may be"),
            ("x", "a.cu", "neither a step"),
        ] {
            let said = between(&STEPS, first, second).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
