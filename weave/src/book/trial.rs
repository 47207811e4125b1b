//! Implements `cargo x book --test`, which opens every page in headless Chromium, and the live
//! figures in Firefox too.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, anyhow, ensure};
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
    // The programs whose results the pages must match are in the same folder.
    let programs = xtask::programs::path("weave")?;
    let programs = programs.parent().unwrap_or(Path::new("."));
    let firefox = ["firefox", "firefox-esr"].into_iter().find(|name| is_installed(name));
    if firefox.is_none() {
        println!("SKIPPED: testing the live figures in a second browser needs Firefox");
    }
    // A browser mostly uses one processor, so Firefox runs beside those tests in Chromium that
    // measure no times.
    let node = |name: &str, browser: &str| {
        let mut node = Command::new("node");
        node.arg(format!("book/test/{name}.mjs")).arg(browser).arg(html);
        node
    };
    let alone = |name: &str| said(name, &node(name, browser).output()?);
    std::thread::scope(|scope| {
        let second =
            scope.spawn(|| firefox.map(|firefox| node("firefox", firefox).arg(programs).output()));
        alone("pages").and_then(|()| alone("time")).and_then(|()| {
            let second = second.join().map_err(|_| anyhow!("the test in Firefox panicked"))?;
            second.transpose()?.map_or(Ok(()), |done| said("firefox", &done))
        })
    })?;
    // The figures are also tested from a server, where readers can edit CUDA code. The server ends
    // when this program ends.
    let served = serve::start(html, 0)?;
    cmd!(sh, "node book/test/live.mjs {browser} {html} {programs}")
        .env("LIVE_SERVED", served)
        .run()
        .context("node runs book/test/live.mjs")
}

/// Prints the output of a test.
fn said(name: &str, done: &Output) -> Result<()> {
    print!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    ensure!(done.status.success(), "book/test/{name}.mjs failed: {}", done.status);
    Ok(())
}
