//! Manages temporary files, which are removed when they are dropped, and on an interrupt.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, Once, PoisonError},
};

/// The files to remove.
static PARTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The exit code of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// A file that is removed when this value is dropped, and when the program is interrupted or
/// terminated.
#[derive(Debug)]
pub(crate) struct Part(PathBuf);

impl Part {
    /// Registers a file for removal; it need not exist yet.
    pub(crate) fn new(path: PathBuf) -> Part {
        static HANDLER: Once = Once::new();
        HANDLER.call_once(|| {
            // If no handler can be set, an interrupt leaves the file behind; everything else works.
            let _ = ctrlc::set_handler(|| {
                parts().iter().for_each(|path| drop(fs::remove_file(path)));
                std::process::exit(INTERRUPTED);
            });
        });
        parts().push(path.clone());
        Part(path)
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // The file may not exist, or may have been renamed.
        let _ = fs::remove_file(&self.0);
        parts().retain(|path| *path != self.0);
    }
}

fn parts() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}
