//! The kernels of the workspace, in lesson order.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// A kernel: the `kernel.cu` of a crate, a kernel of a study, or a variant of a step.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The name of the crate. For a file other than `kernel.cu`, the name is followed by `/` and
    /// the file's name.
    pub name: String,
    /// The crate's folder.
    pub folder: PathBuf,
    /// The file, relative to the crate's folder.
    pub file: PathBuf,
    /// The source.
    pub source: String,
    /// The source, in which included files are inlined.
    pub woven: String,
}

impl Kernel {
    /// Returns the kernel without its first lines, which are comments that state its purpose and
    /// costs.
    pub fn body(&self) -> String {
        let lines = self.source.lines().skip_while(|line| line.starts_with("//"));
        lines.map(|line| line.to_owned() + "\n").collect()
    }

    /// Returns the path of the kernel's PTX for an element type, relative to the folder.
    pub fn ptx(&self, element: &str) -> PathBuf {
        self.file.with_extension(format!("{element}.ptx"))
    }

    fn read(folder: &Path, file: &Path) -> Result<Kernel> {
        let path = folder.join(file);
        let source =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let name = match file.file_stem().unwrap_or_default().to_string_lossy() {
            stem if stem == "kernel" => name.into_owned(),
            stem => format!("{name}/{stem}"),
        };
        let find = |included: &str| compiler::beside(&path, included);
        let woven = compiler::woven(&source, &path.display().to_string(), find)?;
        Ok(Kernel { name, folder: folder.to_owned(), file: file.to_owned(), source, woven })
    }
}

/// Returns the steps, beginning with v0.
pub fn steps() -> Result<Vec<Kernel>> {
    Ok(within("steps")?.into_iter().filter(|kernel| !kernel.name.contains('/')).collect())
}

/// Returns all kernels: the steps, then their variants, then the studies, then the kernels that the
/// ladder measures as bounds.
pub fn all() -> Result<Vec<Kernel>> {
    let (mut kernels, variants): (Vec<_>, Vec<_>) =
        within("steps")?.into_iter().partition(|kernel| !kernel.name.contains('/'));
    kernels.extend(variants);
    kernels.extend(within("studies")?);
    kernels.extend(within("measure")?);
    Ok(kernels)
}

/// Returns the broken sums of the zoo. The zoo has only integer kernels, so that rounding cannot
/// explain a wrong sum.
pub fn zoo() -> Result<Vec<Kernel>> {
    let folder = crate::root().join("zoo");
    let mut kernels = Vec::new();
    for path in entries(&folder.join("kernels")) {
        if path.extension().is_some_and(|extension| extension == "cu") {
            let file = Path::new("kernels").join(path.file_name().unwrap_or_default());
            kernels.push(Kernel::read(&folder, &file)?);
        }
    }
    kernels.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(kernels)
}

/// Returns the alternative kernels for the book's figures, named `STEP/NAME`. Each kernel has
/// either a fault, which its first line names, or a number that is set by the slider on its second
/// line. The plan of the kernel's step launches the kernel.
pub fn page() -> Result<Vec<Kernel>> {
    let mut kernels = Vec::new();
    for folder in entries(&crate::root().join("book/live/kernels")) {
        for path in entries(&folder) {
            if path.extension().is_some_and(|extension| extension == "cu") {
                kernels.push(Kernel::read(&folder, path.file_name().unwrap_or_default().as_ref())?);
            }
        }
    }
    kernels.sort_by_key(|kernel| (number(&kernel.name), kernel.name.clone()));
    Ok(kernels)
}

/// The element types of the kernels in the zoo.
pub const ZOO: [(&str, &str); 1] = [("i32", "int")];

/// Returns the kernels of the crates in a folder.
fn within(folder: &str) -> Result<Vec<Kernel>> {
    let folder = crate::root().join(folder);
    let mut kernels = Vec::new();
    for krate in entries(&folder) {
        for place in ["src", "src/variants"].map(PathBuf::from) {
            for path in entries(&krate.join(&place)) {
                if path.extension().is_some_and(|extension| extension == "cu") {
                    let file = place.join(path.file_name().unwrap_or_default());
                    kernels.push(Kernel::read(&krate, &file)?);
                }
            }
        }
    }
    // Sorts by number, because v10 comes after v9.
    kernels.sort_by_key(|kernel| (number(&kernel.name), kernel.name.clone()));
    Ok(kernels)
}

/// Returns the number of a step, which is 10 for `v10-fixed-tree`.
fn number(name: &str) -> Option<u32> {
    let digits: String = name.strip_prefix('v')?.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_in_the_order_of_their_numbers() {
        let names: Vec<String> = steps().unwrap().into_iter().map(|kernel| kernel.name).collect();
        let numbers: Vec<u32> = names.iter().filter_map(|name| number(name)).collect();
        assert_eq!(numbers, (0..names.len() as u32).collect::<Vec<_>>(), "{names:?}");
    }

    #[test]
    fn variants_follow_the_steps_and_are_named_after_them() {
        let all = all().unwrap();
        let at = |name: &str| all.iter().position(|kernel| kernel.name == name).unwrap();
        assert!(at("v0-naive/and") >= steps().unwrap().len());
        assert_eq!(all[at("v0-naive/and")].ptx("f32"), Path::new("src/variants/and.f32.ptx"));
    }

    #[test]
    fn included_files_are_inlined() {
        for name in ["v12-bulk-copy", "v12-bulk-copy/refill-after"] {
            let kernel = all().unwrap().into_iter().find(|kernel| kernel.name == name).unwrap();
            assert!(kernel.source.contains("#include \"bulk.cuh\""), "{name}");
            assert!(kernel.woven.contains("cp.async.bulk"), "{name}");
        }
    }
}
