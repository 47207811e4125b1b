//! Chooses the PTX of a kernel. The committed PTX is used unless `kernel.cu` has changed; in that
//! case, the kernel is compiled.

use std::path::Path;

use compiler::{Compiler, Kind, Stamp, Unit, beside, source_hash, woven};

use super::ptx::{Ptx, target, version};
use crate::{Element, Error, Kernel, Result};

/// Returns the PTX of a kernel, which is the committed PTX or, if `kernel.cu` has changed, newly
/// compiled PTX.
///
/// `other` replaces the step's kernel. A `.cu` file is compiled, and a `.ptx` file is used
/// unchanged.
pub fn of(kernel: &Kernel, element: Element, other: Option<&Path>) -> Result<Ptx> {
    by(None, kernel, element, other)
}

/// Like [`of`], but always compiles the kernel with the requested compiler, even if `kernel.cu` is
/// unchanged.
pub fn by(
    asked: Option<Kind>,
    kernel: &Kernel,
    element: Element,
    other: Option<&Path>,
) -> Result<Ptx> {
    let path = other.unwrap_or(Path::new(kernel.path));
    let file = path.display().to_string();
    if path.extension().is_some_and(|e| e == "ptx") {
        let text = read(path)?;
        looks_like_ptx(&text, &file)?;
        is_of(&text, element, &file)?;
        return Ok(Ptx { text, source: String::new(), origin: format!("{file}, as it is"), file });
    }
    let source = match other {
        Some(path) => read(path)?,
        None if kernel.source.is_empty() => read(path)?,
        // A program that was copied to another machine has only the source that it was built with.
        None => compiler::read(path).unwrap_or_else(|_| kernel.source.to_owned()),
    };
    let whole = woven(&source, &file, |name| {
        beside(path, name).or_else(|| kernel.included(name).map(str::to_owned))
    })?;
    let committed = kernel.ptx(element);
    // A reader's own kernel has no committed PTX.
    let unchanged = !committed.is_empty()
        && Stamp::read(committed, &format!("kernel.{element}.ptx"))?.source == source_hash(&whole);
    if unchanged && asked.is_none() {
        let own = if other.is_some() { "the step's own kernel: " } else { "" };
        let origin =
            format!("{own}committed PTX, {} for {}", version(committed), target(committed));
        return Ok(Ptx {
            text: committed.to_owned(),
            source,
            origin,
            file: format!("kernel.{element}.ptx"),
        });
    }
    let compiler = Compiler::find(asked).map_err(|error| match error {
        compiler::Error::Missing(text) if !unchanged => {
            Error::NoCompiler { file: file.clone(), text }
        }
        other => other.into(),
    })?;
    let text = compiler.compile(&Unit::of_kernel(&whole, &file, element.cuda_name()))?;
    let why = if unchanged { "" } else { "was changed: " };
    let origin = format!("{file} {why}compiled by {compiler} for {}", target(&text));
    Ok(Ptx { text, source, origin, file })
}

fn read(path: &Path) -> Result<String> {
    compiler::read(path)
        .map_err(|source| Error::File { doing: format!("reading {}", path.display()), source })
}

/// Rejects obviously malformed PTX before a driver or the interpreter reads it.
fn looks_like_ptx(text: &str, file: &str) -> Result<()> {
    let reason = match text {
        _ if text.trim().is_empty() => "it is empty",
        _ if version(text) == "unknown" => "it has no .version line",
        _ if target(text) == "unknown" => "it has no .target line",
        _ => return Ok(()),
    };
    Err(Error::BadPtx { file: file.to_owned(), reason: reason.to_owned() })
}

/// Refuses PTX whose stamp names another element type. PTX without a stamp is accepted.
fn is_of(text: &str, element: Element, file: &str) -> Result<()> {
    let defined = |line: &str| {
        let (_, rest) = line.strip_prefix("//")?.split_once("Element=")?;
        let name = rest.split(' ').next()?;
        Element::ALL.into_iter().find(|element| element.cuda_name() == name)
    };
    match text.lines().take(4).find_map(defined) {
        Some(made) if made != element => {
            Err(Error::OtherElement { file: file.to_owned(), made, asked: element })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_named_as_in_the_committed_ptx() {
        assert_eq!(Element::ALL.map(|e| (e.name(), e.cuda_name())), compiler::ELEMENTS);
    }

    #[test]
    fn ptx_of_another_type_is_refused() {
        let options = "NVRTC 12.4.127 --define-macro=Element=float --std=c++17";
        let text = Stamp::put(".version 8.4\n.target sm_60\n", "source", options);
        assert!(is_of(&text, Element::F32, "kernel.f32.ptx").is_ok());
        assert!(is_of(".version 8.4\n", Element::I32, "own.ptx").is_ok());
        assert_eq!(
            is_of(&text, Element::I32, "kernel.f32.ptx").unwrap_err().to_string(),
            "kernel.f32.ptx is made for f32, as its stamp says, but `--type i32` was given: use `--type f32`, or the PTX for i32"
        );
    }

    #[test]
    fn broken_ptx_is_refused_with_the_reason() {
        let said = |text| looks_like_ptx(text, "own.ptx").map_err(|error| error.to_string());
        for (text, lacks) in [
            ("", "it is empty"),
            (" \n", "it is empty"),
            ("this is no PTX", "it has no .version line"),
            (".target sm_60\n", "it has no .version line"),
            (".version 8.4\n", "it has no .target line"),
        ] {
            let error = said(text).unwrap_err();
            assert!(error.contains("own.ptx") && error.contains(lacks), "{text}: {error}");
        }
        assert_eq!(said(".version 8.4\n.target sm_60\n"), Ok(()));
    }

    /// Committed PTX is used only for its own source, and only if no compiler is requested.
    #[test]
    fn a_changed_kernel_never_runs_from_the_committed_ptx() {
        let file = std::env::temp_dir().join(format!("chosen-{}.cu", std::process::id()));
        let source = "extern \"C\" __global__ void reduce() {}\n";
        let ptx: &str = Stamp::put(".version 8.4\n.target sm_60\n", source, "by hand").leak();
        let kernel = Kernel { path: "", source, includes: &[], ptx: [ptx, ptx, ""] };
        let origin = |text: &str, asked, element| {
            std::fs::write(&file, text).unwrap();
            // If there is no compiler, the function returns the error message instead of the
            // origin.
            by(asked, &kernel, element, Some(&file))
                .map_or_else(|e| e.to_string(), |ptx| ptx.origin)
        };
        let own = origin(source, None, Element::I32);
        assert_eq!(own, "the step's own kernel: committed PTX, 8.4 for sm_60");
        let changed = origin(&format!("{source}// More.\n"), None, Element::I32);
        let asked = origin(source, Some(Kind::Nvrtc), Element::I32);
        let none = origin(source, None, Element::F64);
        for other in [changed, asked, none] {
            assert!(!other.contains("committed PTX, 8.4"), "{other}");
        }
        // If the source is not embedded, the file must exist.
        let nowhere = Kernel { path: "nowhere/kernel.cu", source: "", ..kernel };
        let said = by(None, &nowhere, Element::I32, None).unwrap_err().to_string();
        assert!(said.starts_with("reading nowhere/kernel.cu"), "{said}");
        // If the compiler is missing, the error does not say that the kernel has changed.
        for kind in [Kind::Nvrtc, Kind::Clang] {
            if let Err(missing) = Compiler::find(Some(kind)) {
                assert_eq!(
                    origin(source, Some(kind), Element::I32),
                    Error::from(missing).to_string()
                );
            }
        }
        std::fs::remove_file(file).unwrap();
    }
}
