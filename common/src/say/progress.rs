//! Shows the progress of a long run in one line on the terminal. The line disappears when the run
//! ends.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The interval between writes, and the delay before the first write.
const TICK: Duration = Duration::from_secs(1);

/// The progress line. The line is written only if standard error is a terminal.
pub(super) struct Progress {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    line: Mutex<Line>,
    ended: Condvar,
}

#[derive(Default)]
struct Line {
    text: String,
    shown: bool,
    ended: bool,
}

impl Progress {
    /// Starts with an empty line.
    pub(super) fn start() -> Progress {
        let shared = Arc::<Shared>::default();
        let writer = io::stderr().is_terminal().then(|| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.write())
        });
        Progress { shared, writer }
    }

    /// Sets the text of the line.
    pub(super) fn set(&self, text: String) {
        self.shared.line().text = text;
    }

    /// Hides the line while `print` prints something else.
    pub(super) fn pause<R>(&self, print: impl FnOnce() -> R) -> R {
        let mut line = self.shared.line();
        line.clear();
        print()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.shared.line().ended = true;
        self.shared.ended.notify_one();
        // A panic in the writer's thread has been printed already.
        self.writer.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn line(&self) -> std::sync::MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the line at every tick until the run has ended.
    fn write(&self) {
        let start = Instant::now();
        let mut line = self.line();
        loop {
            let waited = self.ended.wait_timeout_while(line, TICK, |line| !line.ended);
            line = waited.unwrap_or_else(PoisonError::into_inner).0;
            line.clear();
            if line.ended {
                return;
            }
            // If the terminal is closed, the run continues.
            let _ = write!(io::stderr(), "{} ({} s)", line.text, start.elapsed().as_secs());
            let _ = io::stderr().flush();
            line.shown = true;
        }
    }
}

impl Line {
    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
            let _ = io::stderr().flush();
        }
    }
}
