//! `cargo x book --test`: every page in headless Chromium, as a reader opens it; the live figures
//! in Firefox too.

use std::path::Path;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use super::serve;

pub(crate) fn run(sh: &Shell, html: &Path) -> Result<()> {
    let there = |name: &str| cmd!(sh, "{name} --version").quiet().ignore_stderr().read().is_ok();
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let browser = browsers.into_iter().find(|name| there(name)).filter(|_| there("node"));
    let Some(browser) = browser else {
        println!("SKIPPED: trying the book in a browser takes node and chromium");
        return Ok(());
    };
    cmd!(sh, "node book/test/pages.mjs {browser} {html}")
        .run()
        .context("node runs book/test/pages.mjs")?;
    // The programs that the pages are held against lie beside this one.
    let programs = xtask::programs::path("weave")?;
    let programs = programs.parent().unwrap_or(Path::new("."));
    // Served, too, where CUDA can be edited; the server lives as long as this program.
    let served = serve::start(html, 0)?;
    cmd!(sh, "node book/test/live.mjs {browser} {html} {programs}")
        .env("LIVE_SERVED", served)
        .run()
        .context("node runs book/test/live.mjs")?;
    let Some(firefox) = ["firefox", "firefox-esr"].into_iter().find(|name| there(name)) else {
        println!("SKIPPED: trying the live figures in a second browser takes Firefox");
        return Ok(());
    };
    cmd!(sh, "node book/test/firefox.mjs {firefox} {html} {programs}")
        .run()
        .context("node runs book/test/firefox.mjs")
}
