//! An open connection to one rank, and the threads that serve it.

use std::{
    io::{self, Write},
    net::{Shutdown, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use super::{
    seats,
    wire::{Hello, Message, said},
};

/// If no message arrives on a connection for this time, the rank at its other end counts as lost.
/// If a process dies, its connections close immediately, so this timeout detects only the failure
/// of a whole machine.
pub const SILENCE: Duration = Duration::from_secs(10);

/// The interval between heartbeats.
const PING: Duration = Duration::from_millis(500);

/// A connection to one rank.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    rank: u32,
    stream: Arc<Mutex<TcpStream>>,
}

/// The state that all threads of a rank share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    lost: AtomicBool,
    over: AtomicBool,
    sentence: Mutex<Option<String>>,
}

impl Shared {
    /// Returns the sentence that describes the first lost rank, if a rank is lost.
    pub(super) fn gone(&self) -> Option<String> {
        if !self.lost.load(Ordering::Acquire) {
            return None;
        }
        self.sentence.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records that this rank is about to exit. From then on, a closed connection does not count as
    /// a lost rank.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Records a sentence that describes the first lost rank, and sends it to the other ranks.
    pub(super) fn declare(&self, sentence: String, others: &[Connection]) {
        let mut known = self.sentence.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_over() || known.is_some() {
            return;
        }
        *known = Some(sentence.clone());
        self.lost.store(true, Ordering::Release);
        drop(known);
        for other in others {
            let _ = other.send(&Message::Gone(sentence.clone()));
        }
    }

    /// Records that a rank is lost because it closed its connection without a goodbye message.
    pub(super) fn lose(&self, who: &Hello, others: &[Connection]) {
        self.declare(format!("{} is gone; the sum was aborted", seats::name(who)), others);
    }
}

impl Connection {
    pub(super) fn new(rank: u32, stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        Ok(Connection { rank, stream: Arc::new(Mutex::new(stream)) })
    }

    /// Returns the rank at the other end of the connection.
    pub(super) fn rank(&self) -> u32 {
        self.rank
    }

    pub(super) fn send(&self, message: &Message) -> io::Result<()> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        message.send(&mut *stream)?;
        stream.flush()
    }

    /// Closes the connection, which also ends the reading thread.
    pub(super) fn close(&self) {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.shutdown(Shutdown::Both);
    }

    /// Starts a thread that reads messages until the connection closes.
    pub(super) fn read(
        &self,
        who: Hello,
        others: Vec<Connection>,
        shared: Arc<Shared>,
        inbox: mpsc::Sender<(u32, Message)>,
    ) -> io::Result<()> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).try_clone()?;
        let rank = self.rank;
        thread::spawn(move || {
            loop {
                match Message::receive(&mut stream) {
                    Ok(Message::Ping) => {}
                    Ok(Message::Leave) => {
                        let _ = inbox.send((rank, Message::Leave));
                        return;
                    }
                    Ok(Message::Gone(sentence)) => {
                        shared.declare(said(&sentence), &others);
                        return;
                    }
                    Ok(message) => {
                        if inbox.send((rank, message)).is_err() {
                            return;
                        }
                    }
                    Err(_) => return shared.lose(&who, &others),
                }
            }
        });
        Ok(())
    }
}

/// Starts a thread that sends heartbeats on all connections.
pub(super) fn ping(connections: Vec<Connection>, shared: Arc<Shared>) {
    thread::spawn(move || {
        while !shared.is_over() && shared.gone().is_none() {
            for connection in &connections {
                let _ = connection.send(&Message::Ping);
            }
            thread::sleep(PING);
        }
    });
}
