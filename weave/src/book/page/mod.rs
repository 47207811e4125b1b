//! The preprocessor, which replaces each chapter's directives and checks the chapter's prose.

pub(crate) mod built;
mod directive;
mod maths;
mod prose;
pub(crate) mod segment;
mod terms;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex},
};

use anyhow::{Result, bail};
use mdbook_driver::book::{Book, BookItem, Chapter};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

use crate::book::block::{highlight::escape, listing};
use crate::book::source::{BOOK, Sources};
use directive::Woven;
use segment::Part;
use terms::Terms;

/// The mdBook preprocessor.
pub(crate) struct Weave {
    pub(crate) sources: Sources,
    /// Whether a fault leaves a mark on the page instead of making the build fail.
    pub(crate) draft: bool,
    /// The faults, each as a sentence with its file and line.
    pub(crate) faults: Arc<Mutex<Vec<String>>>,
}

impl Preprocessor for Weave {
    fn name(&self) -> &str {
        "weave"
    }

    fn run(&self, context: &PreprocessorContext, mut book: Book) -> Result<Book> {
        let src = context.root.join(&context.config.book.src);
        let mut pages = Vec::new();
        let mut glossary = String::new();
        book.for_each_mut(|item| {
            if let BookItem::Chapter(Chapter { source_path: Some(path), content, .. }) = item {
                if path.as_os_str() == terms::PAGE {
                    glossary.clone_from(content);
                    *content = terms::anchored(content);
                }
                pages.push(path.display().to_string());
            }
        });
        let terms = Terms::read(&glossary, &pages);
        book.for_each_mut(|item| {
            if let BookItem::Chapter(chapter) = item {
                let path = chapter.source_path.as_ref().map(|path| path.display().to_string());
                let page = path.and_then(|path| pages.iter().position(|page| *page == path));
                self.chapter(chapter, &src, &terms, page.unwrap_or(pages.len()));
            }
        });
        Ok(book)
    }
}

/// An open box: its name, its first line, and whether the box's answer has begun.
type Open = (&'static str, usize, bool);

impl Weave {
    fn chapter(&self, chapter: &mut Chapter, src: &Path, terms: &Terms, page: usize) {
        let Some(name) = chapter.source_path.clone() else { return };
        let path = src.join(&name);
        let text = std::mem::take(&mut chapter.content);
        let fault = |line: usize, what: &str| {
            let text = format!("{}/src/{}:{line}: {what}", BOOK, name.display());
            self.faults.lock().expect("no thread has panicked").push(text);
            match self.draft {
                true => format!("<mark class=\"fault\">{}</mark>", escape(what)),
                false => String::new(),
            }
        };
        let mut out = String::with_capacity(2 * text.len());
        let mut boxes: Vec<Open> = Vec::new();
        // The terms in the glossary that the page has already used. In the glossary itself, no term
        // is linked.
        let mut used = BTreeSet::new();
        let linked = name.as_os_str() != terms::PAGE;
        // Whether a figure is open, so that the rest of the line is its caption.
        let mut caption = false;
        for (line, part) in segment::split(&text) {
            let woven = match part {
                Part::Text(text) => {
                    if let Some(found) = prose::measured(text) {
                        let at = line + line_of(text, &found);
                        out += &fault(
                            at,
                            &format!(
                                "`{found}` looks measured: use {{{{num …}}}}, {{{{cite …}}}} or {{{{exact …}}}}"
                            ),
                        );
                    }
                    if text.contains("{{") {
                        out += &fault(line, "a `{{` without its `}}`");
                    }
                    let text = match linked {
                        true => &terms.link(text, page, &mut used),
                        false => text,
                    };
                    match text.split_once('\n').filter(|_| caption) {
                        Some((end, rest)) => {
                            caption = false;
                            Ok(Woven::Inline(format!(
                                "{end}\n\n</figcaption>\n</figure>\n\n{rest}"
                            )))
                        }
                        None => Ok(Woven::Inline(text.to_owned())),
                    }
                }
                Part::Opaque(text) => {
                    if text.starts_with("<!-- results:") {
                        out += &fault(
                            line,
                            "blocks of results belong in README files: use a directive here",
                        );
                    }
                    if text.contains("{{#include") && !text.starts_with('`') {
                        out += &fault(
                            line,
                            "a code block in a list or quote cannot include a file: move it to the margin",
                        );
                    }
                    Ok(Woven::Inline(text.to_owned()))
                }
                Part::Fence(info, body) => listing::fence(info, body, &path).map(Woven::Block),
                Part::Maths(latex, display) => maths::mathml(latex, display).map(Woven::Inline),
                Part::Directive(text) => match self.boxed(text, line, &mut boxes) {
                    Some(done) => done,
                    None => directive::weave(&self.sources, text),
                },
            };
            match woven {
                Ok(Woven::Inline(text)) => out += &text,
                Ok(Woven::Block(html)) => out += &html,
                Ok(Woven::Figure(html)) => {
                    out += &html;
                    out += "<figcaption>\n\n";
                    caption = true;
                }
                Err(error) => out += &fault(line, &format!("{error:#}")),
            }
        }
        if caption {
            out += "\n\n</figcaption>\n</figure>\n";
        }
        for (name, line, _) in boxes {
            fault(line, &format!("`{{{{{name}}}}}` has no `{{{{/{name}}}}}`"));
        }
        chapter.content = out.replace("<figcaption>\n\n\n\n</figcaption>\n", "");
    }

    /// Replaces `{{predict}} … {{answer}} … {{/predict}}`, and likewise for exercises.
    fn boxed(&self, text: &str, line: usize, boxes: &mut Vec<Open>) -> Option<Result<Woven>> {
        let closes = |name: &str| boxes.last().is_some_and(|open| open.0 == name && open.2);
        let html = match text {
            "predict" | "exercise" => {
                let (name, title) = match text {
                    "predict" => ("predict", "Predict"),
                    _ => ("exercise", "Exercise"),
                };
                boxes.push((name, line, false));
                Ok(format!(
                    "\n<section class=\"box {name}\">\n<p class=\"box-title\">{title}</p>\n\n"
                ))
            }
            "answer" => match boxes.last_mut() {
                Some(open) if !open.2 => {
                    open.2 = true;
                    Ok("\n\n<details>\n<summary>Answer</summary>\n\n".to_owned())
                }
                _ => Err("`{{answer}}` belongs in a `{{predict}}` or `{{exercise}}`, once"),
            },
            "/predict" | "/exercise" if closes(&text[1..]) => {
                boxes.pop();
                Ok("\n\n</details>\n</section>\n\n".to_owned())
            }
            "/predict" | "/exercise" => {
                Err("this directive closes a box that is not open, or that has no `{{answer}}`")
            }
            _ => return None,
        };
        Some(match html {
            Ok(html) => Ok(Woven::Block(html)),
            Err(why) => (|| bail!("`{{{{{text}}}}}`: {why}"))(),
        })
    }
}

/// Returns the index, counted from 0 within the piece, of the line in which something was found.
fn line_of(text: &str, found: &str) -> usize {
    let number = found.split(' ').next().unwrap_or(found);
    text.find(number).map_or(0, |at| text[..at].matches('\n').count())
}
