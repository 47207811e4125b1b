//! Converts LaTeX to MathML.

use anyhow::{Result, bail};
use pulldown_latex::{Parser, RenderConfig, Storage, config::DisplayMode, push_mathml};

/// Converts a formula to MathML; the formula is either in a sentence or on a line of its own.
pub(crate) fn mathml(latex: &str, display: bool) -> Result<String> {
    let storage = Storage::new();
    let mut html = String::new();
    let mode = if display { DisplayMode::Block } else { DisplayMode::Inline };
    let config = RenderConfig { display_mode: mode, ..RenderConfig::default() };
    push_mathml(&mut html, Parser::new(latex, &storage), config)?;
    // The renderer writes errors into its output. The renderer also writes an entity for a space,
    // which Markdown escapes.
    if html.contains("<merror") {
        bail!("`{latex}` cannot be converted to MathML");
    }
    if html.contains("&nbsp;") || latex.contains("\\ ") {
        bail!("`{latex}`: write a space as `\\;`");
    }
    let html = html.replace('\n', " ");
    Ok(if display { format!("\n<div class=\"formula\">{html}</div>\n") } else { html })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_mathml_and_bad_ones_are_refused() {
        assert!(mathml("2^{-24}", false).unwrap().starts_with("<math"));
        assert!(mathml(r"\frac{n}{t}", true).unwrap().contains("display=\"block\""));
        assert!(mathml(r"\frac{", false).is_err());
        assert!(mathml(r"a\ b", false).is_err());
    }
}
