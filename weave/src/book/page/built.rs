//! Checks the built pages for dead links, pictures without alternative text, directives that were
//! not replaced, and resources from other servers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result};

/// A built page.
#[derive(Debug)]
pub(crate) struct Page {
    /// The page's HTML.
    html: String,
    /// The anchors on the page.
    ids: BTreeSet<String>,
}

/// The pages in a folder, keyed by their paths in it.
pub(crate) type Pages = BTreeMap<String, Page>;

/// Reads all pages, except those that mdBook generates for itself.
pub(crate) fn pages(folder: &Path) -> Result<Pages> {
    let mut pages = Pages::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".html")
            && !["404.html", "toc.html", "print.html"].contains(&name.as_str())
        {
            let html = fs::read_to_string(&path)?;
            let ids = attributes(&html, "id").map(str::to_owned).collect();
            pages.insert(name, Page { html, ids });
        }
    }
    Ok(pages)
}

/// Returns all problems found on the pages, each as a sentence.
pub(crate) fn faults(pages: &Pages) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, page) in pages {
        let main = main(&page.html);
        faults.extend(links(pages, name, main));
        faults.extend(pictures(main).map(|what| format!("{name}: {what}")));
        if let Some(at) = visible(main).find("{{") {
            let text: String = visible(main)[at..].chars().take(40).collect();
            faults.push(format!("{name}: a directive is left: {text}"));
        }
        if main.contains("\">\n</code>") {
            faults.push(format!("{name}: an empty code block"));
        }
        let fetched =
            ["script", "link", "img", "iframe"].iter().flat_map(|tag| tags(&page.html, tag));
        for tag in fetched {
            let remote = ["src", "href"].iter().any(|a| {
                attribute(tag, a).is_some_and(|v| v.starts_with("http") || v.starts_with("//"))
            });
            if remote && !tag.contains("rel=\"canonical\"") {
                faults.push(format!("{name}: fetched from elsewhere: {tag}"));
            }
        }
    }
    faults
}

/// Returns the chapter, without menus.
fn main(html: &str) -> &str {
    let start = html.find("<main>").unwrap_or(0);
    let end = html[start..].find("</main>").map_or(html.len(), |at| start + at);
    &html[start..end]
}

/// Returns the dead links within the book.
fn links<'a>(pages: &'a Pages, name: &'a str, html: &'a str) -> impl Iterator<Item = String> + 'a {
    attributes(html, "href").filter_map(move |link| {
        if link.starts_with("http:") || link.starts_with("https:") || link.starts_with("mailto:") {
            return None;
        }
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let file = if file.is_empty() { name } else { file.trim_start_matches("./") };
        let Some(page) = pages.get(file) else {
            return Some(format!("{name}: the link `{link}` is dead"));
        };
        let found = anchor.is_empty() || page.ids.contains(anchor);
        (!found).then(|| format!("{name}: the link `{link}`: {file} has no such anchor"))
    })
}

/// Returns the pictures without alternative text.
fn pictures(html: &str) -> impl Iterator<Item = String> + '_ {
    let images = tags(html, "img")
        .filter(|tag| attribute(tag, "alt").is_none_or(|alt| alt.trim().is_empty()));
    let drawings = tags(html, "svg").filter(|tag| {
        let named = attribute(tag, "aria-label").is_some_and(|label| !label.trim().is_empty());
        // An icon next to the title of its note needs no text.
        let icon = tag.contains("viewbox=\"0 0 16 16\" width=\"18\"");
        !named && !icon && !tag.contains("aria-hidden=\"true\"")
    });
    images.chain(drawings).map(|tag| {
        let tag: String = tag.chars().take(80).collect();
        format!("a picture without alternative text: {tag}")
    })
}

/// Returns the opening tags of an element.
fn tags<'a>(html: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let pieces = html.split('<').skip(1);
    pieces.filter_map(move |piece| {
        let rest = piece.strip_prefix(name)?;
        let tag = rest
            .starts_with([' ', '>', '\n', '/'])
            .then(|| &piece[..piece.find('>').unwrap_or(piece.len())])?;
        Some(tag)
    })
}

/// Returns the values of an attribute in all tags.
fn attributes<'a>(html: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    html.split('<')
        .skip(1)
        .filter_map(move |piece| attribute(&piece[..piece.find('>').unwrap_or(piece.len())], name))
}

/// Returns the value of an attribute in a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = tag;
    while let Some(at) = rest.find(name) {
        let own = rest[..at].ends_with([' ', '\n']);
        let value = rest[at + name.len()..].strip_prefix("=\"");
        if let Some(value) = value.filter(|_| own) {
            return value.split('"').next();
        }
        rest = &rest[at + name.len()..];
    }
    None
}

/// Returns the text of a page without code, scripts and the marks of a draft.
fn visible(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some((at, tag)) = ["code", "script", "pre", "mark"]
        .iter()
        .filter_map(|tag| Some((rest.find(&format!("<{tag}"))?, *tag)))
        .min()
    {
        out += &rest[..at];
        let close = format!("</{tag}>");
        rest = rest[at..].find(&close).map_or("", |end| &rest[at + end + close.len()..]);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(html: &str) -> Page {
        let ids = attributes(html, "id").map(str::to_owned).collect();
        Page { html: format!("<main>{html}</main>"), ids }
    }

    fn found(html: &str) -> Vec<String> {
        let other = page("<h2 id=\"there\">x</h2>");
        faults(&Pages::from([("a.html".into(), page(html)), ("b.html".into(), other)]))
    }

    #[test]
    fn good_pages_pass() {
        for html in [
            "<a href=\"b.html#there\">x</a><a href=\"#here\">y</a><p id=\"here\">",
            "<a href=\"https://example.org/x\">",
            "<svg role=\"img\" aria-label=\"what\"></svg><svg aria-hidden=\"true\"></svg>",
            "<img src=\"x.png\" alt=\"what\">",
            "<code>{{num}}</code>",
        ] {
            assert_eq!(found(html), Vec::<String>::new(), "{html}");
        }
    }

    #[test]
    fn bad_pages_fail() {
        for html in [
            "<a href=\"c.html\">x</a>",
            "<a href=\"b.html#nowhere\">x</a>",
            "<a class=\"k\" href=\"#nowhere\">x</a>",
            "<img src=\"x.png\">",
            "<img src=\"x.png\" alt=\"\">",
            "<svg viewbox=\"0 0 1 1\"></svg>",
            "<p>{{num x}}</p>",
            "<script src=\"https://cdn.example.org/x.js\"></script>",
        ] {
            assert_eq!(found(html).len(), 1, "{html}");
        }
    }
}
