//! A kernel of a reader's own, as a step: launched as another one is.

use std::{borrow::Cow, path::Path};

use common::{Error, Kernel, Result, Step};

use crate::names::find;

/// Whether a word names a kernel's file, and no step.
fn is_file(text: &str) -> bool {
    [".cu", ".ptx"].iter().any(|end| text.ends_with(end))
}

/// The reader's kernel, if one of the two words is that of a file: launched as the other one, which is
/// a step.
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
                "`{first}` and `{second}` are both files, and a file says nothing of how it is launched: compare each with the step that it was made from"
            )));
        }
    };
    Ok(Some(with_kernel(step(steps, other)?, &name(file), Path::new(file))))
}

/// What a word names: a file goes by its own name, without its folders.
pub(crate) fn name(word: &str) -> Cow<'_, str> {
    match Path::new(word).file_name().filter(|_| is_file(word)) {
        Some(name) => name.to_string_lossy(),
        None => word.into(),
    }
}

/// The step that is meant: the whole name of one, or the only one that begins so.
pub(crate) fn step(steps: &[&'static Step], text: &str) -> Result<&'static Step> {
    let names: Vec<String> = steps.iter().map(|step| step.name.to_owned()).collect();
    let name = find(&names, text)?;
    Ok(steps.iter().find(|step| step.name == name).expect("a name is that of a step"))
}

/// The same step with the kernel of a file, a `.cu` or PTX as it is. It lives as long as the program,
/// as steps do.
pub(crate) fn with_kernel(base: &'static Step, name: &str, file: &Path) -> &'static Step {
    let path = file.display().to_string().leak();
    Box::leak(Box::new(Step {
        name: name.to_owned().leak(),
        cures: base.cures,
        costs: base.costs,
        kernel: Kernel { path, source: "", includes: base.kernel.includes, ptx: ["", "", ""] },
        blocks: base.blocks,
        aligned: base.aligned,
        plan: base.plan,
        variants: &[],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::STEPS;

    #[test]
    fn a_file_is_launched_as_the_step_beside_it() {
        for (first, second) in [("v3", "a/my.cu"), ("a/my.cu", "v3")] {
            let own = between(&STEPS, first, second).unwrap().unwrap();
            assert_eq!((own.name, own.kernel.path), ("my.cu", "a/my.cu"));
            assert_eq!([name("a/my.cu"), name("v0-naive/and")], ["my.cu", "v0-naive/and"]);
            assert!(std::ptr::fn_addr_eq(own.plan, STEPS[3].plan));
        }
        assert!(between(&STEPS, "v2", "v3").unwrap().is_none());
        for (first, second, why) in
            [("a.cu", "b.ptx", "both files"), ("a.cu", "v", "may be"), ("x", "a.cu", "is no step")]
        {
            let said = between(&STEPS, first, second).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
