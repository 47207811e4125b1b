//! Links terms to the glossary. If a page uses a term before the chapter that explains it, the
//! first use is linked to the term's entry.

use std::collections::BTreeSet;

use crate::book::block::highlight::escape;

/// The page that lists all terms.
pub(crate) const PAGE: &str = "glossary.md";

/// The comment in the glossary that lists everyday words, which are not linked.
const EVERY_DAY: &str = "<!-- words of every day:";

/// All terms in the glossary.
#[derive(Debug, Default)]
pub(crate) struct Terms(Vec<Term>);

/// An entry in the glossary.
#[derive(Debug)]
struct Term {
    /// The names of the term.
    names: Vec<String>,
    /// The definition, without marks.
    says: String,
    /// The index, in the book's order, of the page that explains the term; `None` if only the
    /// glossary explains it.
    explained: Option<usize>,
}

impl Terms {
    /// Reads the glossary. `pages` are the pages of the book, in order.
    pub(crate) fn read(glossary: &str, pages: &[String]) -> Terms {
        let every_day: BTreeSet<&str> = glossary
            .split_once(EVERY_DAY)
            .and_then(|(_, rest)| rest.split_once("-->"))
            .map(|(words, _)| words.split(',').map(str::trim).collect())
            .unwrap_or_default();
        let terms = glossary.lines().filter_map(|line| {
            let (names, says) = entry(line)?;
            let explained = says.rsplit_once("](").and_then(|(_, target)| {
                let page = target.split(['#', ')']).next()?;
                pages.iter().position(|known| known == page)
            });
            let names = names
                .map(|name| name.trim().trim_matches('`').to_owned())
                .filter(|name| !every_day.contains(name.as_str()))
                .collect();
            Some(Term { names, says: plain(says), explained })
        });
        Terms(terms.collect())
    }

    /// Returns the text with a link at the first use of each term that a later page explains.
    /// `used` contains the terms that the page has already used.
    pub(crate) fn link(&self, text: &str, page: usize, used: &mut BTreeSet<usize>) -> String {
        let mut out = String::with_capacity(text.len());
        let mut heading = false;
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let starts_line = at == 0 || text.as_bytes()[at - 1] == b'\n';
            if starts_line {
                heading = rest.starts_with('#');
            }
            // Existing links, tags and pictures are left unchanged.
            let skipped = match rest.as_bytes()[0] {
                b'[' => rest.find("](").and_then(|open| Some(open + rest[open..].find(')')? + 1)),
                b'<' => rest.find('>').map(|end| end + 1),
                _ => None,
            };
            if let Some(length) = skipped {
                out += &rest[..length];
                at += length;
                continue;
            }
            let begins = text[..at].chars().next_back().is_none_or(|c| !joins(c));
            let found = if begins && !heading { self.first(rest, page, used) } else { None };
            if let Some((index, length)) = found {
                used.insert(index);
                let term = &self.0[index];
                out += &format!(
                    "<a class=\"term\" href=\"glossary.html#{}\" title=\"{}\">{}</a>",
                    anchor(&term.names[0]),
                    escape(&term.says),
                    &rest[..length]
                );
                at += length;
                continue;
            }
            let next = rest.chars().next().map_or(1, char::len_utf8);
            out += &rest[..next];
            at += next;
        }
        out
    }

    /// Finds, at the start of the text, the longest term that has been neither used nor explained
    /// yet.
    fn first(&self, text: &str, page: usize, used: &BTreeSet<usize>) -> Option<(usize, usize)> {
        let open = self.0.iter().enumerate().filter(|(index, term)| {
            !used.contains(index) && term.explained.is_none_or(|explained| page < explained)
        });
        let found = open.filter_map(|(index, term)| {
            let lengths = term.names.iter().filter_map(|name| begins(text, name));
            Some((index, lengths.max()?))
        });
        found.max_by_key(|&(_, length)| length)
    }
}

/// Adds an anchor to each entry in the glossary, and moves the link to the explaining page from the
/// end of the entry to the term.
pub(crate) fn anchored(glossary: &str) -> String {
    let line = |line: &str| match entry(line) {
        Some((mut names, says)) => {
            let whole = names.clone().collect::<Vec<_>>().join(",");
            let name = names.next().unwrap_or_default();
            let link = says
                .strip_suffix(')')
                .and_then(|says| says.rsplit_once(" ["))
                .and_then(|(says, link)| Some((says, link.split_once("](")?.1)));
            let line = match link {
                Some((says, page)) => format!("**[{whole}]({page})** — {says}"),
                None => line.to_owned(),
            };
            format!("<a id=\"{}\"></a>{line}", anchor(name.trim_matches('`')))
        }
        None => line.to_owned(),
    };
    glossary.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

/// Parses a line of the form `**name, name** — definition`.
fn entry(line: &str) -> Option<(std::str::Split<'_, char>, &str)> {
    let (names, says) = line.strip_prefix("**")?.split_once("** — ")?;
    Some((names.split(','), says))
}

/// Returns the length of this name at the start of the text. The name may be in the plural, or
/// start with a capital letter.
fn begins(text: &str, name: &str) -> Option<usize> {
    let head = text.get(..name.len())?;
    let same = head == name
        || !name.contains(char::is_uppercase)
            && head.chars().skip(1).eq(name.chars().skip(1))
            && head.to_lowercase() == name;
    if !same {
        return None;
    }
    let rest = &text[name.len()..];
    let length = if rest.starts_with('s') { name.len() + 1 } else { name.len() };
    (!text[length..].starts_with(joins)).then_some(length)
}

/// Returns whether a character continues a word.
fn joins(c: char) -> bool {
    c.is_alphanumeric() || ['_', '-', '`', '’', '\''].contains(&c)
}

/// Returns the anchor for a term.
fn anchor(name: &str) -> String {
    name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

/// Returns a definition without its links and its markup.
fn plain(says: &str) -> String {
    let mut out = String::new();
    let mut rest = says;
    while let Some((before, after)) = rest.split_once('[') {
        out += before;
        let Some((words, after)) = after.split_once("](") else { break };
        let after = after.split_once(')').map_or("", |(_, after)| after);
        // The link to the chapter at the end is left out.
        if !after.trim().is_empty() {
            out += words;
        }
        rest = after;
    }
    (out + rest).replace(['`', '*'], "").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str = "# Glossary\n\n<!-- words of every day: part -->\n\n\
        **warp** — 32 threads. [The machine](the-machine.md#warps)\n\n\
        **bank conflict** — a pass. [v1](v1.md)\n\n\
        **bank** — one of 32. [v1](v1.md)\n\n\
        **PTX, SASS** — languages.\n\n\
        **part** — a share. [v1](v1.md)\n";

    fn woven(text: &str, page: usize) -> String {
        let pages = ["index.md", "the-machine.md", "v1.md"].map(str::to_owned);
        Terms::read(GLOSSARY, &pages).link(text, page, &mut BTreeSet::new())
    }

    #[test]
    fn links_the_first_use_before_the_explanation() {
        let link = "<a class=\"term\" href=\"glossary.html#warp\" title=\"32 threads.\">Warps</a>";
        assert_eq!(woven("Warps and warps", 0), format!("{link} and warps"));
        assert_eq!(woven("Warps and warps", 1), "Warps and warps");
    }

    #[test]
    fn links_the_longest_term_outside_of_markup() {
        let text =
            woven("a bank conflict, [a bank](v1.md), <b title=\"bank\">x</b>\n## A bank\n", 0);
        assert!(text.contains("#bank-conflict\""), "{text}");
        assert_eq!(text.matches("class=\"term\"").count(), 1, "{text}");
    }

    #[test]
    fn parts_of_words_are_no_terms() {
        assert_eq!(
            woven("ptx, APTX, PTX-like, banker, riverbank, part", 0).matches("term").count(),
            0
        );
        assert!(woven("from PTX to SASS", 2).contains("glossary.html#ptx\""));
    }

    #[test]
    fn every_entry_has_an_anchor() {
        let text = anchored(GLOSSARY);
        assert!(
            text.contains("<a id=\"bank-conflict\"></a>**[bank conflict](v1.md)** — a pass.\n")
        );
        assert!(
            text.contains("<a id=\"warp\"></a>**[warp](the-machine.md#warps)** — 32 threads.\n")
        );
        assert!(text.contains("<a id=\"ptx\"></a>**PTX, SASS** — languages.\n"));
        assert_eq!(text.matches("<a id=").count(), 5);
    }
}
