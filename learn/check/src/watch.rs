//! Watches a file for changes, however an editor saves it.

use std::{path::Path, thread, time::Duration};

use anyhow::Result;

use crate::ended::Ended;

/// The polling interval. The file's content is compared, so it does not matter whether an editor
/// overwrites or replaces the file, or how coarse the file system's timestamps are.
const PAUSE: Duration = Duration::from_millis(100);

/// Calls a function each time the content of a file changes; returns only if the function fails.
pub(crate) fn watch(path: &Path, mut each: impl FnMut(&str) -> Result<Ended>) -> Result<Ended> {
    let mut last = None;
    loop {
        // While an editor is saving the file, it may be missing or empty.
        let text = compiler::read(path).ok().filter(|text| !text.trim().is_empty());
        if text.is_some() && text != last {
            each(text.as_deref().unwrap_or_default())?;
            last = text;
        }
        thread::sleep(PAUSE);
    }
}
