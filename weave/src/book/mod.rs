//! Implements `cargo x book`, which builds the tutorial as HTML, from Markdown, results and the
//! interpreter.

mod block;
mod outputs;
mod page;
pub(crate) mod serve;
mod source;
mod trial;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use mdbook_driver::MDBook;
use xshell::{Shell, cmd};

use block::live;
use page::{Weave, built};
use source::{BOOK, Sources};

/// Builds the book. The options may request steps before and after the build.
pub(crate) fn run(sh: &Shell, options: &xtask::Book) -> Result<()> {
    if options.outputs || options.check {
        match outputs::run(sh, options.check) {
            Err(error) if options.draft => println!("error: {error:#}"),
            done => done?,
        }
    }
    let html = build(options.draft)?;
    if options.test {
        trial::run(sh, &html)?;
    }
    let index = html.join("index.html");
    if options.open {
        let path = &index;
        let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        cmd!(sh, "{opener} {path}").run().with_context(|| format!("open {}", index.display()))?;
    }
    if options.serve { serve::run(&html, || build(true).map(drop)) } else { Ok(()) }
}

/// Builds the book into `book/book`, and returns the folder that has its pages.
///
/// A draft is built even if it has errors, which are printed.
pub(crate) fn build(draft: bool) -> Result<PathBuf> {
    let start = Instant::now();
    let root = xtask::root();
    let sources = Sources::read()?;
    let faults = Arc::new(Mutex::new(Vec::new()));
    let mut book = MDBook::load(root.join(BOOK))?;
    book.with_preprocessor(Weave { sources, draft, faults: faults.clone() });
    book.build()?;
    let html = root.join(BOOK).join("book");
    live::write(&html)?;
    let pages = built::pages(&html)?;
    let mut faults = std::mem::take(&mut *faults.lock().expect("no thread has panicked"));
    faults.extend(built::faults(&pages));
    println!(
        "{} pages in {:.1} s: {}",
        pages.len(),
        start.elapsed().as_secs_f64(),
        html.join("index.html").strip_prefix(&root).unwrap_or(&html).display()
    );
    match (faults.as_slice(), draft) {
        ([], _) => Ok(html),
        (faults, true) => {
            println!("faults in this draft: {}\n  {}", faults.len(), faults.join("\n  "));
            Ok(html)
        }
        (faults, false) => bail!("faults in the book: {}\n  {}", faults.len(), faults.join("\n  ")),
    }
}
