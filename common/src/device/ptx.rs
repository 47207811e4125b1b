//! PTX with a stamp: which `kernel.cu` it was made from, and by which compiler.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::{Element, Error, Kernel, Result, nvrtc};

/// PTX that is ready to be loaded.
#[derive(Clone, Debug)]
pub struct Ptx {
    /// Its text.
    pub text: String,
    /// The kernel's source, for listings.
    pub source: String,
    /// Where it comes from, for people: "committed", or what it was compiled from, and by what.
    pub origin: String,
    /// The file to name in an error.
    pub file: String,
}

/// The command that writes committed PTX anew.
const REMEDY: &str = "`cargo x ptx` writes it anew";

/// The PTX for a kernel: the committed one, or, if `kernel.cu` was changed since, a fresh one.
///
/// `other` is a file that takes the place of the step's own: a `.cu`, or a `.ptx` as it is.
pub fn of(kernel: &Kernel, element: Element, other: Option<&Path>) -> Result<Ptx> {
    let path = other.unwrap_or(Path::new(kernel.path));
    let file = path.display().to_string();
    if other.is_some() && path.extension().is_some_and(|e| e == "ptx") {
        let text = read(path)?;
        looks_like_ptx(&text, &file)?;
        return Ok(Ptx { text, source: String::new(), origin: format!("{file}, as it is"), file });
    }
    let source = match other {
        Some(path) => read(path)?,
        // A program that was carried to another machine has only the source that it was built with.
        None => std::fs::read_to_string(path).unwrap_or_else(|_| kernel.source.to_owned()),
    };
    let committed = kernel.ptx(element);
    let stamp = Stamp::read(committed, &format!("kernel.{element}.ptx"))?;
    if stamp.source == hash(&source) {
        let origin = format!("committed PTX, {} for {}", version(committed), target(committed));
        return Ok(Ptx {
            text: committed.to_owned(),
            source,
            origin,
            file: format!("kernel.{element}.ptx"),
        });
    }
    let library = nvrtc::Library::find().ok_or_else(|| Error::NoNvrtc { file: file.clone() })?;
    let text = library.compile(&source, &file, element)?;
    let origin = format!(
        "{file} was changed: compiled by NVRTC {} for {}",
        library.version(),
        target(&text)
    );
    Ok(Ptx { text, source, origin, file })
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|source| Error::File { doing: format!("reading {}", path.display()), source })
}

/// The first lines of a committed `.ptx`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// SHA-256 of `kernel.cu`.
    pub source: String,
    /// SHA-256 of the PTX below the stamp.
    pub body: String,
}

impl Stamp {
    /// Puts a stamp on PTX.
    pub fn put(body: &str, source: &str, compiler: &str) -> String {
        format!(
            "// Made from kernel.cu by `cargo x ptx`; never edited by hand.\n\
             // kernel.cu sha256 {}\n// ptx sha256 {}\n// {compiler}\n{body}",
            hash(source),
            hash(body)
        )
    }

    /// Reads the stamp of a file and checks that what stands below it is what was stamped.
    pub fn read(text: &str, file: &str) -> Result<Stamp> {
        let bad = |reason: &str| Error::BadPtx {
            file: file.to_owned(),
            reason: format!("{reason}; {REMEDY}"),
        };
        if text.trim().is_empty() {
            return Err(bad("it is empty"));
        }
        let mut parts = text.splitn(5, '\n').skip(1);
        let mut field = |name: &str| parts.next()?.strip_prefix(name).map(str::to_owned);
        let source =
            field("// kernel.cu sha256 ").ok_or_else(|| bad("its second line is no stamp"))?;
        let body = field("// ptx sha256 ").ok_or_else(|| bad("its third line is no stamp"))?;
        let rest = parts.nth(1).unwrap_or_default();
        if body != hash(rest) {
            return Err(bad("it is not what its stamp says: it was edited or cut"));
        }
        Ok(Stamp { source, body })
    }
}

/// SHA-256 in hexadecimal, the same for both kinds of line ends.
pub fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.replace("\r\n", "\n").as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The word after a directive such as `.target`.
fn directive<'t>(ptx: &'t str, name: &str) -> &'t str {
    let line = ptx.lines().find_map(|line| line.trim_start().strip_prefix(name));
    line.and_then(|rest| rest.split([' ', '\t', ',']).find(|word| !word.is_empty()))
        .unwrap_or("unknown")
}

/// What the `.version` line says.
pub fn version(ptx: &str) -> &str {
    directive(ptx, ".version")
}

/// What the `.target` line says.
pub fn target(ptx: &str) -> &str {
    directive(ptx, ".target")
}

/// Refuses what certainly is no PTX before a driver or the interpreter sees it.
fn looks_like_ptx(text: &str, file: &str) -> Result<()> {
    let reason = match text {
        _ if text.trim().is_empty() => "it is empty",
        _ if version(text) == "unknown" => "it has no .version line",
        _ if target(text) == "unknown" => "it has no .target line",
        _ => return Ok(()),
    };
    Err(Error::BadPtx { file: file.to_owned(), reason: reason.to_owned() })
}

/// The names of the kernels that can be launched.
pub fn entries(ptx: &str) -> Vec<String> {
    let after = ptx.split(".entry ").skip(1);
    let names = after.filter_map(|text| text.split(['(', ' ', '\n', '\t']).next());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "//\n// NVVM\n\n.version 8.4\n.target sm_60\n";

    #[test]
    fn a_stamp_is_read_back() {
        let text = Stamp::put(BODY, "source", "NVRTC 12.4 --some");
        let stamp = Stamp::read(&text, "kernel.f32.ptx").unwrap();
        assert_eq!(stamp.source, hash("source"));
        assert_eq!((version(&text), target(&text)), ("8.4", "sm_60"));
    }

    #[test]
    fn what_was_edited_cut_or_emptied_is_refused() {
        let text = Stamp::put(BODY, "source", "NVRTC 12.4");
        for (broken, why) in [
            (String::new(), "empty"),
            (text.replace("sm_60", "sm_61"), "edited or cut"),
            (text[..text.len() - 4].to_owned(), "edited or cut"),
            (BODY.to_owned(), "no stamp"),
            (text.replace("ptx sha256", "ptx sha"), "third line"),
        ] {
            let message = Stamp::read(&broken, "kernel.f32.ptx").unwrap_err().to_string();
            assert!(message.contains(why) && message.contains("cargo x ptx"), "{message}");
        }
    }

    #[test]
    fn line_ends_do_not_change_a_hash() {
        assert_eq!(hash("a\nb\n"), hash("a\r\nb\r\n"));
        assert_ne!(hash("a\nb\n"), hash("a\nb"));
    }

    #[test]
    fn entry_points_are_found_with_and_without_parameters() {
        let text =
            ".visible .entry reduce(\n.param .u64 a\n)\n{\n}\n.entry two()\n{\n}\n.func three()\n";
        assert_eq!(entries(text), ["reduce", "two"]);
        assert_eq!(entries(".version 8.4\n"), Vec::<String>::new());
    }
}
