//! The rendezvous of the ranks. Rank 0 listens, the other ranks connect to it, and all ranks get
//! the list of members.

use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use rand::RngExt;

use super::{
    Control, Meeting,
    connection::{self, Connection, Shared},
    seats,
    wire::{Hello, MAGIC, Message, Nonce, said, seal},
};
use crate::{Error, Result};

/// The time within which a new connection must send its hello.
const HELLO: Duration = Duration::from_secs(2);

/// The maximum number of new connections that are handled concurrently. This limits the number of
/// threads that other programs can occupy.
const STRANGERS: usize = 64;

/// Connects this rank to the other ranks. `id` creates the id that rank 0 distributes.
pub fn meet(
    meeting: &Meeting,
    hello: Hello,
    id: impl FnOnce() -> Result<Vec<u8>>,
) -> Result<Control> {
    if hello.rank >= hello.world {
        return Err(Error::Rank { rank: hello.rank, world: hello.world });
    }
    if !meeting.address.ip().is_loopback() && meeting.token.is_empty() {
        return Err(Error::Meeting(format!(
            "rank 0's address is {}, which other machines can reach: give all ranks the same secret, in MANY_TOKEN",
            meeting.address
        )));
    }
    if hello.rank == 0 { host(meeting, hello, id) } else { guest(meeting, hello) }
}

/// Performs the rendezvous on rank 0.
fn host(meeting: &Meeting, own: Hello, id: impl FnOnce() -> Result<Vec<u8>>) -> Result<Control> {
    let address = meeting.address;
    let listener = TcpListener::bind(address).map_err(|error| {
        Error::Meeting(match error.kind() {
            ErrorKind::AddrInUse => {
                format!("port {} is in use: choose another with --port", address.port())
            }
            _ => format!(
                "cannot listen at {address}: {error}; name an address of this machine with --bind"
            ),
        })
    })?;
    let cannot = |error| Error::Meeting(format!("cannot listen at {address}: {error}"));
    listener.set_nonblocking(true).map_err(cannot)?;
    let id = id()?;
    let world = own.world as usize;
    let (door, arrivals) = mpsc::channel();
    let strangers = Arc::new(AtomicUsize::new(0));
    let mut members = vec![own];
    let mut streams: Vec<TcpStream> = Vec::new();
    let deadline = Instant::now() + meeting.timeout;
    while members.len() < world {
        if let Ok((stream, _)) = listener.accept() {
            greet(stream, meeting.token.clone(), strangers.clone(), door.clone());
            continue;
        }
        match arrivals.recv_timeout(Duration::from_millis(2)) {
            Ok((hello, mut stream)) => {
                let hello: Hello = hello;
                if hello.job != members[0].job {
                    let why = format!(
                        "{} belongs to job {:?}, but rank 0 belongs to job {:?}: is it left over from an earlier start?",
                        seats::name(&hello),
                        hello.job,
                        members[0].job
                    );
                    let _ = Message::Refused(why).send(&mut stream);
                } else if let Some(why) = seats::contradiction(&members, &hello) {
                    streams.push(stream);
                    return Err(refuse(why, &mut streams));
                } else {
                    members.push(hello);
                    streams.push(stream);
                }
            }
            Err(_) if Instant::now() >= deadline => {
                let come = |rank: &u32| members.iter().any(|member| member.rank == *rank);
                let missing: Vec<u32> = (0..world as u32).filter(|rank| !come(rank)).collect();
                let why = format!(
                    "{} of {world} did not connect within {} s; rank 0 listens on {address}",
                    ranks(&missing),
                    meeting.timeout.as_secs_f64()
                );
                return Err(refuse(why, &mut streams));
            }
            Err(_) => {}
        }
    }
    let ranks: Vec<u32> = members[1..].iter().map(|member| member.rank).collect();
    members.sort_by_key(|member| member.rank);
    let welcome = Message::Welcome(id.clone(), members.clone());
    let mut connections = Vec::new();
    for (rank, mut stream) in ranks.into_iter().zip(streams) {
        let gone = |_| {
            Error::Gone(format!(
                "{} disconnected before the start",
                seats::name(&members[rank as usize])
            ))
        };
        welcome.send(&mut stream).map_err(gone)?;
        connections.push(Connection::new(rank, stream).map_err(gone)?);
    }
    open(meeting, 0, members, id, connections)
}

/// Returns a list of ranks as text. The text names at most eight ranks.
fn ranks(missing: &[u32]) -> String {
    let all: Vec<String> = missing.iter().take(8).map(u32::to_string).collect();
    match missing {
        [one] => format!("rank {one}"),
        [_, .., last] if missing.len() <= 8 => {
            format!("ranks {} and {last}", all[..all.len() - 1].join(", "))
        }
        _ => format!("ranks {} and {} more", all.join(", "), missing.len() - all.len()),
    }
}

fn refuse(why: String, streams: &mut [TcpStream]) -> Error {
    for stream in streams {
        let _ = Message::Refused(why.clone()).send(stream);
    }
    Error::Meeting(why)
}

/// Reads the hello of a new connection in a separate thread, so that a slow peer does not delay
/// other peers. If a peer has the wrong token, sends it the reason and closes the connection.
fn greet(
    stream: TcpStream,
    token: String,
    strangers: Arc<AtomicUsize>,
    door: mpsc::Sender<(Hello, TcpStream)>,
) {
    if strangers.fetch_add(1, Ordering::AcqRel) >= STRANGERS {
        strangers.fetch_sub(1, Ordering::AcqRel);
        return;
    }
    thread::spawn(move || {
        if let Ok(Some(rank)) = ask(stream, &token) {
            let _ = door.send(rank);
        }
        strangers.fetch_sub(1, Ordering::AcqRel);
    });
}

fn ask(mut stream: TcpStream, token: &str) -> std::io::Result<Option<(Hello, TcpStream)>> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(HELLO))?;
    let nonce: Nonce = rand::rng().random();
    stream.write_all(&[MAGIC.as_slice(), &nonce].concat())?;
    let mut within = Within { stream: &stream, deadline: Instant::now() + HELLO };
    let mut magic = [0; MAGIC.len()];
    within.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Ok(None);
    }
    let Message::Hello(hello, sealed) = Message::receive(&mut within)? else { return Ok(None) };
    if sealed != seal(token, &nonce, &hello) {
        let why = "rank 0 has a different token: start all ranks with the same MANY_TOKEN";
        Message::Refused(why.into()).send(&mut stream)?;
        return Ok(None);
    }
    Ok(Some((hello, stream)))
}

/// A reader that fails when the deadline passes, even if bytes are still arriving.
struct Within<'s> {
    stream: &'s TcpStream,
    deadline: Instant,
}

impl Read for Within<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(to)
    }
}

/// Performs the rendezvous on a rank other than 0. Retries the connection, because rank 0 may not
/// be listening yet.
fn guest(meeting: &Meeting, own: Hello) -> Result<Control> {
    let address = meeting.address;
    let deadline = Instant::now() + meeting.timeout;
    let seconds = meeting.timeout.as_secs_f64();
    let mut stream = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let absent = |error: std::io::Error| {
            Error::Meeting(format!(
                "rank 0 did not answer at {address} within {seconds} s ({error}): is it running, and is that its address?"
            ))
        };
        if left.is_zero() {
            return Err(absent(ErrorKind::TimedOut.into()));
        }
        match TcpStream::connect_timeout(&address, left.min(Duration::from_secs(1))) {
            Ok(stream) => break stream,
            Err(error) if Instant::now() >= deadline => return Err(absent(error)),
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    };
    let other = |what: &str| {
        Error::Meeting(format!(
            "the program that listens at {address} is not rank 0 of this sum: {what}; choose another port with --port"
        ))
    };
    let mut within = Within { stream: &stream, deadline };
    let mut greeting = [0; MAGIC.len() + 16];
    let mut come = 0;
    while come < greeting.len() {
        match within.read(&mut greeting[come..]) {
            Ok(0) => return Err(other("it closed the connection")),
            Ok(more) => come += more,
            Err(error) => return Err(other(&format!("it sent nothing ({error})"))),
        }
        let magic = &greeting[..come.min(MAGIC.len())];
        if *magic != MAGIC[..magic.len()] {
            return Err(other(&format!("it sent {:?}", String::from_utf8_lossy(magic))));
        }
    }
    let nonce: Nonce = greeting[MAGIC.len()..].try_into().expect("sixteen bytes");
    let sealed = seal(&meeting.token, &nonce, &own);
    let gone = |_| Error::Gone("rank 0 disconnected before all ranks had connected".to_owned());
    stream.write_all(&MAGIC).map_err(gone)?;
    let (rank, world) = (own.rank, own.world);
    Message::Hello(own, sealed).send(&mut stream).map_err(gone)?;
    // This rank waits longer than rank 0, because rank 0's error names the missing ranks.
    let mut within = Within { stream: &stream, deadline: deadline + Duration::from_secs(2) };
    match Message::receive(&mut within) {
        Ok(Message::Welcome(_, members)) if members.len() != world as usize => {
            Err(other(&format!("it has {} ranks, but WORLD_SIZE is {world} here", members.len())))
        }
        Ok(Message::Welcome(_, members)) if !in_order(&members) => {
            Err(other("its ranks are not in order"))
        }
        Ok(Message::Welcome(id, members)) => {
            let connection = Connection::new(0, stream).map_err(gone)?;
            open(meeting, rank, members, id, vec![connection])
        }
        Ok(Message::Refused(why)) => Err(Error::Meeting(said(&why))),
        Ok(_) => Err(other("its reply to the hello was an unexpected message")),
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(other(&error.to_string())),
        Err(error) => Err(gone(error)),
    }
}

/// Returns whether each member's rank equals the member's index in the list.
fn in_order(members: &[Hello]) -> bool {
    (0..).zip(members).all(|(rank, member)| member.rank == rank)
}

fn open(
    meeting: &Meeting,
    rank: u32,
    members: Vec<Hello>,
    id: Vec<u8>,
    connections: Vec<Connection>,
) -> Result<Control> {
    let (sender, inbox) = mpsc::channel();
    let shared = Arc::new(Shared::default());
    for connection in &connections {
        let other = |c: &&Connection| c.rank() != connection.rank();
        let others = connections.iter().filter(other).cloned().collect();
        let who = members[connection.rank() as usize].clone();
        let reading = connection.read(who, others, shared.clone(), sender.clone());
        reading
            .map_err(|error| Error::Meeting(format!("cannot keep a connection open: {error}")))?;
    }
    connection::ping(connections.clone(), shared.clone());
    Ok(Control { rank, members, id, connections, inbox, shared, timeout: meeting.timeout })
}
