//! The stamp on committed PTX, which names its source and its compiler.

use hmac_sha256::Hash;

use crate::{Error, Result, comments::without_comments};

/// The command that regenerates committed PTX.
const REMEDY: &str = "`cargo x ptx` regenerates it";
const SOURCE: &str = "// kernel.cu without comments: sha256 ";
const BODY: &str = "// ptx sha256 ";

/// The first lines of a committed `.ptx` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The SHA-256 hash of `kernel.cu` without its comments; see [`source_hash`].
    pub source: String,
    /// The SHA-256 hash of the PTX below the stamp.
    pub body: String,
}

impl Stamp {
    /// Returns the PTX with a stamp before it.
    pub fn put(body: &str, source: &str, compiler: &str) -> String {
        format!(
            "// Generated from kernel.cu by `cargo x ptx`; do not edit.\n\
             {SOURCE}{}\n{BODY}{}\n// {compiler}\n{body}",
            source_hash(source),
            hash(body)
        )
    }

    /// Reads the stamp in a file, and checks the PTX below it against the stamp.
    pub fn read(text: &str, file: &str) -> Result<Stamp> {
        let bad = |reason: &str| Error::Stamp {
            file: file.to_owned(),
            reason: format!("{reason}; {REMEDY}"),
        };
        if text.trim().is_empty() {
            return Err(bad("it is empty"));
        }
        let mut parts = text.splitn(5, '\n').skip(1);
        // A checkout on Windows may end lines with \r\n.
        let mut field =
            |name: &str| parts.next()?.trim_end_matches('\r').strip_prefix(name).map(str::to_owned);
        let source = field(SOURCE).ok_or_else(|| bad("its second line is not a stamp"))?;
        let body = field(BODY).ok_or_else(|| bad("its third line is not a stamp"))?;
        let rest = parts.nth(1).unwrap_or_default();
        if body != hash(rest) {
            return Err(bad("it does not match its stamp: it was edited or truncated"));
        }
        Ok(Stamp { source, body })
    }
}

/// Returns the SHA-256 hash of a CUDA source without its comments, in hexadecimal. Line breaks are
/// included, because line numbers are part of the PTX.
pub fn source_hash(source: &str) -> String {
    hash(&without_comments(&source.replace("\r\n", "\n")))
}

/// Returns a SHA-256 hash in hexadecimal, which is the same for both kinds of line endings.
pub fn hash(text: &str) -> String {
    let digest = Hash::hash(text.replace("\r\n", "\n").as_bytes());
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
    fn an_edited_comment_leaves_the_stamp() {
        const SOURCE: &str = "// Adds.\nasm(\"add.u32 %0, 1, 2; // fast\" : \"=r\"(a)); // once\n";
        let before = Stamp::put(BODY, SOURCE, "NVRTC 12.4");
        for (old, new, same) in [
            ("Adds", "Sums", true),
            (" // once", "", true),
            (" // once\n", "  /// twice\r\n", true),
            ("// fast", "// slow", false),
            ("1, 2", "1, 3", false),
            ("// Adds.\n", "", false),
            ("// Adds.", "// Adds.\n// Still costs: a load.", false),
            ("// Adds.", "// Needs compute_70: Adds.", false),
        ] {
            let edited = SOURCE.replace(old, new);
            assert_ne!(edited, SOURCE);
            assert_eq!(Stamp::put(BODY, &edited, "NVRTC 12.4") == before, same, "{edited}");
        }
    }

    #[test]
    fn edited_cut_and_empty_files_are_refused() {
        let text = Stamp::put(BODY, "source", "NVRTC 12.4");
        for (broken, why) in [
            (String::new(), "empty"),
            (text.replace("sm_60", "sm_61"), "edited or truncated"),
            (text[..text.len() - 4].to_owned(), "edited or truncated"),
            (BODY.to_owned(), "not a stamp"),
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
