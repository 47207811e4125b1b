//! `cargo x book`: the tutorial, from Markdown, results and the interpreter to HTML.

mod compilers;
mod console;
mod counts;
mod directive;
mod file;
mod flight;
mod frames;
mod highlight;
mod history;
mod inflight;
mod listing;
mod live;
mod maths;
mod metric;
mod number;
mod outputs;
mod page;
mod plan;
mod plot;
mod profiled;
mod prose;
mod quantity;
mod repeated;
mod ring;
mod sass;
mod segment;
pub(crate) mod serve;
mod slider;
mod sources;
mod stepper;
mod table;
mod task;
mod terms;
mod timed;
mod trial;
mod weave;
mod zoo;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use mdbook_driver::MDBook;
use xshell::{Shell, cmd};

use sources::{BOOK, Sources};

/// Builds the book, after or before what the options ask for.
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

/// Builds the book into `book/book`; the folder of its pages.
///
/// A draft is built whatever is wrong with it; its faults are printed.
pub(crate) fn build(draft: bool) -> Result<PathBuf> {
    let start = Instant::now();
    let root = xtask::root();
    let sources = Sources::read()?;
    let faults = Arc::new(Mutex::new(Vec::new()));
    let mut book = MDBook::load(root.join(BOOK))?;
    book.with_preprocessor(weave::Weave { sources, draft, faults: faults.clone() });
    book.build()?;
    let html = root.join(BOOK).join("book");
    live::write(&html)?;
    let pages = page::pages(&html)?;
    let mut faults = std::mem::take(&mut *faults.lock().expect("no thread has panicked"));
    faults.extend(page::faults(&pages));
    println!(
        "{} pages in {:.1} s: {}",
        pages.len(),
        start.elapsed().as_secs_f64(),
        html.join("index.html").strip_prefix(&root).unwrap_or(&html).display()
    );
    match (faults.as_slice(), draft) {
        ([], _) => Ok(html),
        (faults, true) => {
            println!("{} faults in this draft:\n  {}", faults.len(), faults.join("\n  "));
            Ok(html)
        }
        (faults, false) => bail!("{} faults in the book:\n  {}", faults.len(), faults.join("\n  ")),
    }
}
