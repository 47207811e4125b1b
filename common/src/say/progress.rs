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

/// The terminal, or the writer that a test uses in its place.
type Out = Box<dyn Write + Send>;

/// The progress line. The line is written only if standard error is a terminal.
pub(super) struct Progress {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

struct Shared {
    line: Mutex<Line>,
    ended: Condvar,
}

#[derive(Default)]
struct Line {
    text: String,
    shown: bool,
    ended: bool,
    out: Option<Out>,
}

impl Progress {
    /// Starts with an empty line.
    pub(super) fn start() -> Progress {
        let out = io::stderr().is_terminal().then(|| Box::new(io::stderr()) as Out);
        Progress::on(out, TICK)
    }

    fn on(out: Option<Out>, tick: Duration) -> Progress {
        let shown = out.is_some();
        let shared = Arc::new(Shared {
            line: Mutex::new(Line { out, ..Line::default() }),
            ended: Condvar::new(),
        });
        let writer = shown.then(|| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.write(tick))
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
    fn write(&self, tick: Duration) {
        let start = Instant::now();
        let mut line = self.line();
        loop {
            let waited = self.ended.wait_timeout_while(line, tick, |line| !line.ended);
            line = waited.unwrap_or_else(PoisonError::into_inner).0;
            line.clear();
            if line.ended {
                return;
            }
            let text = format!("{} ({} s)", line.text, start.elapsed().as_secs());
            line.put(&text);
            line.shown = true;
        }
    }
}

impl Line {
    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            self.put("\r\x1b[K");
        }
    }

    /// Writes to the terminal. If the terminal is closed, the run continues.
    fn put(&mut self, text: &str) {
        if let Some(out) = &mut self.out {
            let _ = out.write_all(text.as_bytes());
            let _ = out.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer whose bytes the test reads; with `closed`, each write fails.
    #[derive(Clone, Default)]
    struct Terminal {
        bytes: Arc<Mutex<Vec<u8>>>,
        closed: bool,
    }

    impl Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.bytes.lock().unwrap().extend(bytes);
            if self.closed { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(bytes.len()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Terminal {
        fn text(&self) -> String {
            String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap()
        }

        fn waits_for(&self, text: &str) {
            let start = Instant::now();
            while !self.text().ends_with(text) {
                assert!(start.elapsed().as_secs() < 60, "{:?}", self.text());
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    const SOON: Duration = Duration::from_millis(5);
    const CLEAR: &str = "\r\x1b[K";

    #[test]
    fn the_line_is_replaced_and_disappears_at_the_end() {
        let terminal = Terminal::default();
        let progress = Progress::on(Some(Box::new(terminal.clone())), SOON);
        progress.set("one".into());
        terminal.waits_for("one (0 s)");
        progress.set("two".into());
        terminal.waits_for("two (0 s)");
        // While something else is printed, the line is not there and does not come back.
        let printed = progress.pause(|| {
            assert!(terminal.text().ends_with(CLEAR), "{:?}", terminal.text());
            let before = terminal.text();
            thread::sleep(10 * SOON);
            before == terminal.text()
        });
        assert!(printed);
        terminal.waits_for("two (0 s)");
        drop(progress);
        let text = terminal.text();
        assert!(text.ends_with(&format!("two (0 s){CLEAR}")), "{text:?}");
        assert!(!text.contains(")o") && !text.contains(")t"), "a line was not cleared: {text:?}");
    }

    #[test]
    fn a_run_that_ends_before_the_first_tick_writes_nothing() {
        let terminal = Terminal::default();
        drop(Progress::on(Some(Box::new(terminal.clone())), TICK));
        assert_eq!(terminal.text(), "");
    }

    /// Without a terminal there is no thread, and a terminal that was closed stops no run.
    #[test]
    fn a_run_needs_no_terminal() {
        let progress = Progress::on(None, SOON);
        progress.set("one".into());
        assert!(progress.writer.is_none());
        assert_eq!(progress.pause(|| 3), 3);
        let terminal = Terminal { closed: true, ..Terminal::default() };
        let progress = Progress::on(Some(Box::new(terminal.clone())), SOON);
        progress.set("one".into());
        terminal.waits_for("one (0 s)");
        progress.pause(|| ());
        drop(progress);
    }
}
