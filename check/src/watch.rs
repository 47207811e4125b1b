//! A file that is saved again and again, in whatever way an editor does it.

use std::{fs, path::Path, thread, time::Duration};

use anyhow::Result;

use crate::ended::Ended;

/// How often the file is looked at: its text is read, so that it matters neither whether an editor
/// writes it in place or puts another one there, nor how finely a file system tells times.
const PAUSE: Duration = Duration::from_millis(100);

/// Does something with each new text of a file, for ever.
pub(crate) fn watch(path: &Path, mut each: impl FnMut(&str) -> Result<Ended>) -> Result<Ended> {
    let mut last = None;
    loop {
        // Between two names there is no such file, and half of one may be an empty one.
        let text = fs::read_to_string(path).ok().filter(|text| !text.trim().is_empty());
        if text.is_some() && text != last {
            each(text.as_deref().unwrap_or_default())?;
            last = text;
        }
        thread::sleep(PAUSE);
    }
}
