//! `cargo x book --test`: every page in headless Chromium, as a reader opens it.

use std::path::Path;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

pub(crate) fn run(sh: &Shell, html: &Path) -> Result<()> {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let found = browsers
        .iter()
        .find(|name| cmd!(sh, "{name} --version").quiet().ignore_stderr().read().is_ok());
    let Some(browser) = found else {
        println!("SKIPPED: the book is not tried in a browser, since there is no chromium");
        return Ok(());
    };
    cmd!(sh, "node book/test/pages.mjs {browser} {html}")
        .run()
        .context("node runs book/test/pages.mjs")
}
