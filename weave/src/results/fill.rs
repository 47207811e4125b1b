//! Fills the blocks in a page, which `cargo x results` writes between two markers.

use anyhow::{Context, Result, bail};

/// The start of the marker that begins a block, `<!-- results:begin NAME -->`. The name of the main
/// table may be omitted.
pub(crate) const BEGIN: &str = "<!-- results:begin";
/// The prefix of every marker.
pub(crate) const MARK: &str = "<!-- results:";
/// The marker that ends a block.
pub(crate) const END: &str = "<!-- results:end -->";

/// Inserts the text of every block between its markers.
pub(crate) fn fill(
    text: &str,
    page: &str,
    block: impl Fn(&str) -> Result<String>,
) -> Result<String> {
    let mut filled = String::new();
    let mut rest = text;
    for (number, line) in text.lines().enumerate() {
        if line.contains(MARK) && !line.contains(BEGIN) && !line.contains(END) {
            bail!(
                "{page}, line {}: `{}` is not a marker: use `{BEGIN} NAME -->` or `{END}`",
                number + 1,
                line.trim()
            );
        }
    }
    while let Some(start) = rest.find(BEGIN) {
        let line = rest[..start].matches('\n').count() + filled.matches('\n').count() + 1;
        let (before, marked) = rest.split_at(start);
        let (marker, inside) = marked
            .split_once("-->")
            .with_context(|| format!("{page}, line {line}: `{BEGIN}` has no `-->`"))?;
        let end = inside
            .find(END)
            .with_context(|| format!("{page}, line {line}: `{BEGIN}` has no `{END}`"))?;
        if inside[..end].contains(BEGIN) {
            bail!("{page}, line {line}: `{BEGIN}` begins again before `{END}`");
        }
        let name = marker[BEGIN.len()..].trim();
        let made = block(name).with_context(|| format!("{page}, line {line}"))?;
        filled += before;
        filled += &format!("{marker}-->\n\n{}\n\n", made.trim());
        filled += END;
        rest = &inside[end + END.len()..];
    }
    if rest.contains(END) {
        bail!("{page}: `{END}` without a beginning");
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upper(name: &str) -> Result<String> {
        match name {
            "bad" => bail!("no such block"),
            name => Ok(format!("<{name}>\n")),
        }
    }

    #[test]
    fn blocks_are_filled_and_the_rest_stays() {
        let text = "a\n<!-- results:begin -->\nold\n<!-- results:end -->\nb\n<!-- results:begin step v0 --><!-- results:end -->\n";
        let once = fill(text, "README.md", upper).unwrap();
        assert_eq!(
            once,
            "a\n<!-- results:begin -->\n\n<>\n\n<!-- results:end -->\nb\n<!-- results:begin step v0 -->\n\n<step v0>\n\n<!-- results:end -->\n"
        );
        assert_eq!(fill(&once, "README.md", upper).unwrap(), once);
        assert_eq!(fill("nothing here", "x", upper).unwrap(), "nothing here");
    }

    #[test]
    fn markers_that_do_not_pair_are_named() {
        for (text, why) in [
            ("\n<!-- results:begin -->", "line 2"),
            ("<!-- results:begin", "no `-->`"),
            ("<!-- results:end -->", "without a beginning"),
            ("<!-- results:begin --><!-- results:begin --><!-- results:end -->", "begins again"),
            ("<!-- results:begin bad --><!-- results:end -->", "no such block"),
        ] {
            let message = format!("{:#}", fill(text, "p.md", upper).unwrap_err());
            assert!(message.contains(why) && message.starts_with("p.md"), "{message}");
        }
    }
}
