//! Implements `cargo x book --test`, which opens every page in headless Chromium, and the live
//! figures in Firefox too.

use std::path::Path;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use super::serve;

pub(crate) fn run(sh: &Shell, html: &Path) -> Result<()> {
    let is_installed =
        |name: &str| cmd!(sh, "{name} --version").quiet().ignore_stderr().read().is_ok();
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let browser =
        browsers.into_iter().find(|name| is_installed(name)).filter(|_| is_installed("node"));
    let Some(browser) = browser else {
        println!("SKIPPED: testing the book in a browser needs node and chromium");
        return Ok(());
    };
    cmd!(sh, "node book/test/pages.mjs {browser} {html}")
        .run()
        .context("node runs book/test/pages.mjs")?;
    cmd!(sh, "node book/test/time.mjs {browser} {html}")
        .run()
        .context("node runs book/test/time.mjs")?;
    // The programs whose results the pages must match are in the same folder.
    let programs = xtask::programs::path("weave")?;
    let programs = programs.parent().unwrap_or(Path::new("."));
    // The figures are also tested from a server, where readers can edit CUDA code. The server ends
    // when this program ends.
    let served = serve::start(html, 0)?;
    cmd!(sh, "node book/test/live.mjs {browser} {html} {programs}")
        .env("LIVE_SERVED", served)
        .run()
        .context("node runs book/test/live.mjs")?;
    let Some(firefox) = ["firefox", "firefox-esr"].into_iter().find(|name| is_installed(name))
    else {
        println!("SKIPPED: testing the live figures in a second browser needs Firefox");
        return Ok(());
    };
    cmd!(sh, "node book/test/firefox.mjs {firefox} {html} {programs}")
        .run()
        .context("node runs book/test/firefox.mjs")
}
