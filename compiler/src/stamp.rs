//! The stamp on committed PTX: which source it was made from, and by which compiler.

use sha2::{Digest, Sha256};

use crate::{Error, Result};

/// The command that writes committed PTX anew.
const REMEDY: &str = "`cargo x ptx` writes it anew";

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
        let bad = |reason: &str| Error::Stamp {
            file: file.to_owned(),
            reason: format!("{reason}; {REMEDY}"),
        };
        if text.trim().is_empty() {
            return Err(bad("it is empty"));
        }
        let mut parts = text.splitn(5, '\n').skip(1);
        // A checkout on Windows may have given every line two ends.
        let mut field =
            |name: &str| parts.next()?.trim_end_matches('\r').strip_prefix(name).map(str::to_owned);
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

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "//\n// NVVM\n\n.version 8.4\n.target sm_60\n";

    #[test]
    fn a_stamp_is_read_back() {
        let text = Stamp::put(BODY, "source", "NVRTC 12.4 --some");
        let stamp = Stamp::read(&text, "kernel.f32.ptx").unwrap();
        assert_eq!(stamp.source, hash("source"));
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
    fn a_checkout_with_other_line_ends_is_the_same() {
        let text = Stamp::put(BODY, "source\n", "NVRTC 12.4");
        let stamp = Stamp::read(&text, "kernel.f32.ptx").unwrap();
        assert_eq!(Stamp::read(&text.replace('\n', "\r\n"), "kernel.f32.ptx").unwrap(), stamp);
        assert_eq!(stamp.source, hash("source\r\n"));
    }

    #[test]
    fn line_ends_do_not_change_a_hash() {
        assert_eq!(hash("a\nb\n"), hash("a\r\nb\r\n"));
        assert_ne!(hash("a\nb\n"), hash("a\nb"));
    }
}
