//! Tests peers that misbehave at random. After any bytes from a peer, a rank must end in time, with
//! a sum or an error. `MANY_FUZZ=600` makes each test run for ten minutes.

mod ranks;

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use many::control::{
    Control, Meeting,
    wire::{Hello, MAGIC, Message, seal},
};
use ranks::{hello, join, meeting};

fn seconds() -> f64 {
    std::env::var("MANY_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0)
}

/// A generator of pseudo-random numbers, which are the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, below: usize) -> usize {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.below(256) as u8).collect()
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// Returns a message of any kind, with random content.
    fn message(&mut self) -> Message {
        let text = self.of(&["", "f32", "f64", "sum", "max", "\u{0}\n"]).to_owned();
        let number = self.of(&[0, 1, 1 << 20, u64::MAX]);
        match self.below(9) {
            0 => Message::Hello(hello(1, 3), text),
            1 => Message::Welcome(
                self.bytes(200),
                (0..self.below(4) as u32).map(|rank| hello(rank, 3)).collect(),
            ),
            2 => Message::Refused(text),
            3 => Message::Ping,
            4 => Message::Propose(text, self.of(&["sum", "min", ""]).to_owned(), number),
            5 => Message::Agreed((0..self.below(4)).map(|_| number).collect()),
            6 => Message::Blocks((0..self.below(4)).map(|_| self.bytes(60)).collect()),
            7 => Message::Gone(text),
            _ => Message::Leave,
        }
    }

    /// Returns the bytes to send in place of a message: some random messages, and possibly garbage.
    fn chatter(&mut self) -> Vec<u8> {
        let mut sent = Vec::new();
        for _ in 0..self.below(4) {
            sent.extend(self.message().encode());
        }
        match self.below(4) {
            0 => sent.extend(self.bytes(100)),
            1 => {
                let message = self.message().encode();
                sent.extend(&message[..self.below(message.len())]);
            }
            2 => sent.extend(self.of(&[u32::MAX, 1 << 20, (1 << 20) + 1, 0]).to_le_bytes()),
            _ => {}
        }
        sent
    }
}

/// Makes both calls to the control plane that a rank makes after the rendezvous.
fn works(control: &Control) -> many::Result<()> {
    let lengths = control.agree("f32", "sum", 1)?;
    let world = control.members().len();
    assert_eq!(lengths.len(), world, "as many lengths as ranks");
    let blocks = control.gather(vec![1])?;
    assert_eq!(blocks.len(), world, "as many blocks as ranks");
    Ok(())
}

/// Starts a rank. The returned function waits up to 20 seconds for the rank to end, and returns its
/// error, if any.
fn ended(meeting: &Meeting, hello: Hello) -> impl FnOnce() -> Option<String> + use<> {
    let (joined, (sender, came)) = (join(meeting, hello), mpsc::channel());
    thread::spawn(move || {
        let met = joined.join().expect("no rank panics");
        let _ = sender.send(met.and_then(|control| works(&control)).err());
    });
    move || {
        let error = came.recv_timeout(Duration::from_secs(20)).expect("a rank ends in time");
        let sentence = error.map(|error| error.to_string());
        assert_ne!(sentence.as_deref(), Some(""), "an error has a message");
        sentence
    }
}

fn connect(meeting: &Meeting) -> Option<TcpStream> {
    let until = Instant::now() + meeting.timeout;
    while Instant::now() < until {
        if let Ok(stream) = TcpStream::connect(meeting.address) {
            stream.set_read_timeout(Some(Duration::from_secs(3))).ok()?;
            return Some(stream);
        }
    }
    None
}

/// Returns the parameters of a rendezvous with its own secret, because other tests may soon reuse
/// its port.
fn short(draw: &mut Draw) -> Meeting {
    let token = format!("secret {}", draw.below(usize::MAX));
    Meeting { timeout: Duration::from_millis(400), ..meeting(&token) }
}

/// Tests a rank 1 of three ranks that misbehaves. Returns the kind of misbehaviour, which the
/// caller counts.
fn a_false_rank(draw: &mut Draw) -> &'static str {
    let meeting = short(draw);
    let honest = [0, 2].map(|rank| ended(&meeting, hello(rank, 3)));
    let mut greeting = [0; 24];
    let stream = connect(&meeting)
        .and_then(|mut stream| stream.read_exact(&mut greeting).ok().map(|()| stream));
    let nonce = greeting[8..].try_into().expect("sixteen bytes");
    let whole = |hello: Hello, token: &str| {
        let sealed = seal(token, &nonce, &hello);
        [MAGIC.as_slice(), &Message::Hello(hello, sealed).encode()].concat()
    };
    let right = whole(hello(1, 3), &meeting.token);
    let (what, sent) = match draw.below(8) {
        0 => ("another protocol", draw.of(&["GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", ""]).into()),
        1 => ("half a hello", right[..draw.below(right.len())].to_vec()),
        2 => ("another token", whole(hello(1, 3), "guess")),
        3 => {
            let mut bytes = right.clone();
            let at = draw.below(bytes.len());
            bytes[at] ^= 1 + draw.below(255) as u8;
            ("a hello with a byte changed", bytes)
        }
        4 => {
            let other = Hello {
                rank: draw.of(&[0, 2, 3, 7, u32::MAX]),
                world: draw.of(&[3, 3, 0, 1, 2, u32::MAX]),
                job: draw.of(&["j", "j", "other"]).to_owned(),
                gpu: draw.of(&["GPU-1", "GPU-0", ""]).to_owned(),
                nccl: draw.of(&[22809, 0, u32::MAX]),
                ..hello(1, 3)
            };
            ("a rank that does not fit", whole(other, &meeting.token))
        }
        5 => ("garbage after a good hello", [right, draw.bytes(200)].concat()),
        _ => ("chatter after a good hello", [right, draw.chatter()].concat()),
    };
    let Some(mut stream) = stream else {
        honest.into_iter().for_each(|ended| drop(ended()));
        return "rank 0 did not listen in time";
    };
    let _ = stream.write_all(&sent);
    let stays = draw.below(3) > 0;
    if stays && draw.below(2) > 0 {
        // If the welcome arrives, sends further messages after it.
        let _ = Message::receive(&mut stream);
        let _ = stream.write_all(&draw.chatter());
    }
    let kept = stays.then_some(stream);
    let said = honest.map(|ended| ended());
    drop(kept);
    // A peer without the token must not count as a rank, whatever it sends.
    if ["another protocol", "half a hello", "another token", "a hello with a byte changed"]
        .contains(&what)
    {
        let sentence = said[0].as_deref().expect("rank 0 has met two of three");
        let right = sentence.contains(" within 0.4 s") || sentence.contains("is in use");
        assert!(right, "{what}: {sentence}");
    }
    what
}

/// Tests a rank 0 of two ranks that misbehaves.
fn a_false_rank_0(draw: &mut Draw) -> &'static str {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let meeting = Meeting { address, ..short(draw) };
    let honest = ended(&meeting, hello(1, 2));
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    let greeting = [MAGIC.as_slice(), &[7; 16]].concat();
    let (what, sent) = match draw.below(8) {
        0 => ("garbage for a greeting", draw.bytes(60)),
        1 => ("half a greeting", greeting[..draw.below(greeting.len())].to_vec()),
        _ => ("a greeting", greeting),
    };
    let _ = stream.write_all(&sent);
    if what == "a greeting" {
        let _ = stream.read_exact(&mut [0; 8]);
        let _ = Message::receive(&mut stream);
        if draw.below(2) > 0 {
            let welcome = Message::Welcome(vec![7; 128], vec![hello(0, 2), hello(1, 2)]);
            let _ = welcome.send(&mut stream);
            let lengths = (0..draw.below(4)).map(|_| draw.of(&[1, u64::MAX])).collect();
            let _ = Message::Agreed(lengths).send(&mut stream);
        }
        let _ = stream.write_all(&draw.chatter());
    }
    let kept = (draw.below(8) == 0).then_some(stream);
    honest();
    drop(kept);
    what
}

/// Repeats a test in several threads, because most of the time is spent waiting.
fn again(name: &str, once: fn(&mut Draw) -> &'static str) {
    let (seconds, start) = (seconds(), Instant::now());
    let all = thread::scope(|scope| {
        let worker = |seed| {
            scope.spawn(move || {
                let (mut draw, mut counts) = (Draw(seed), BTreeMap::<&str, u32>::new());
                while start.elapsed().as_secs_f64() < seconds {
                    *counts.entry(once(&mut draw)).or_default() += 1;
                }
                counts
            })
        };
        let workers: Vec<_> = (1..=6).map(worker).collect();
        let mut all = BTreeMap::<&str, u32>::new();
        for worker in workers {
            for (what, count) in worker.join().unwrap() {
                *all.entry(what).or_default() += count;
            }
        }
        all
    });
    eprintln!("{name}, in {seconds} s: {all:?}, {} in all", all.values().sum::<u32>());
}

#[test]
fn misbehaving_ranks() {
    again("false ranks", a_false_rank);
}

#[test]
fn a_misbehaving_rank_0() {
    again("a false rank 0", a_false_rank_0);
}

/// Checks that rank 0 withstands hellos with random changes.
#[test]
fn fuzzed_hellos() {
    let seconds = seconds();
    let long = Meeting { timeout: Duration::from_secs_f64(seconds + 60.0), ..meeting("secret") };
    let zero = join(&long, hello(0, 2));
    let mut draw = Draw(7);
    let whole = [MAGIC.as_slice(), &Message::Hello(hello(1, 2), "x".repeat(64)).encode()].concat();
    let start = Instant::now();
    let mut tried = 0;
    while start.elapsed().as_secs_f64() < seconds {
        let Ok(mut stream) = TcpStream::connect(long.address) else { continue };
        let mut text = whole.clone();
        for _ in 0..=draw.below(6) {
            let (at, byte) = (draw.below(text.len()), draw.below(256) as u8);
            match draw.below(4) {
                0 => text.truncate(at.max(1)),
                1 => text.insert(at, byte),
                _ => text[at] = byte,
            }
        }
        let _ = stream.write_all(&text);
        tried += 1;
    }
    assert!(tried > 10, "{tried} hellos");
    let deadline = Instant::now() + Duration::from_secs(30);
    // At worst, strangers hold every connection slot for the full hello timeout.
    while join(&long, hello(1, 2)).join().unwrap().is_err() {
        assert!(Instant::now() < deadline, "rank 0 no longer answers");
    }
    zero.join().unwrap().unwrap();
    eprintln!("{tried} hellos in {seconds} s");
}
