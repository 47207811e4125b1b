//! Tests the control plane on the loopback interface, with strangers, garbage and lost connections.

mod ranks;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use many::control::{
    Control, Meeting,
    wire::{Hello, MAGIC, Message},
};
use ranks::{hello, join, meeting, says};

/// Returns the ranks of a group after their rendezvous.
fn met(world: u32) -> Vec<Control> {
    let meeting = meeting("secret");
    // Rank 0 is started last, so that the other ranks have to wait for it.
    let ranks: Vec<_> = (0..world).rev().map(|rank| join(&meeting, hello(rank, world))).collect();
    let mut ranks: Vec<Control> =
        ranks.into_iter().map(|rank| rank.join().unwrap().unwrap()).collect();
    ranks.reverse();
    ranks
}

#[test]
fn all_have_the_id_and_all_members() {
    for world in [1, 2, 5, 16] {
        for (rank, control) in met(world).iter().enumerate() {
            assert_eq!(control.id(), [7; 128]);
            assert_eq!(control.members().len(), world as usize);
            assert_eq!(control.members()[rank].pid, 100 + rank as u32);
            control.alive().unwrap();
        }
    }
}

#[test]
fn ranks_agree_and_gather() {
    let ranks = met(4);
    thread::scope(|scope| {
        for (rank, control) in (0u8..).zip(ranks) {
            scope.spawn(move || {
                let lengths = control.agree("f32", "sum", u64::from(rank) + 10).unwrap();
                assert_eq!(lengths, [10, 11, 12, 13]);
                for call in 0..50 {
                    let blocks = control.gather(vec![rank, call]).unwrap();
                    assert_eq!(blocks, (0..4).map(|rank| vec![rank, call]).collect::<Vec<_>>());
                }
            });
        }
    });
}

fn agree(wants: [(&str, &str); 2]) -> Vec<String> {
    let ranks = met(2);
    let asked = ranks.into_iter().zip(wants).map(|(control, (element, operation))| {
        let (element, operation) = (element.to_owned(), operation.to_owned());
        thread::spawn(move || control.agree(&element, &operation, 1).unwrap_err().to_string())
    });
    let asked: Vec<_> = asked.collect();
    asked.into_iter().map(|answer| answer.join().unwrap()).collect()
}

#[test]
fn ranks_that_disagree_get_an_error() {
    let said = agree([("f32", "sum"), ("f64", "sum")]);
    let types = "rank 0 has elements of type f32, but rank 1 has f64: give all ranks the same type";
    assert_eq!(said, [types; 2]);
    let said = agree([("f32", "sum"), ("f32", "max")]);
    let operations =
        "rank 0 computes a sum, but rank 1 computes a max: give all ranks the same operation";
    assert_eq!(said, [operations; 2]);
}

#[test]
fn a_rank_that_never_connects_is_named() {
    let short = Meeting { timeout: Duration::from_millis(400), ..meeting("t") };
    let (zero, two) = (join(&short, hello(0, 4)), join(&short, hello(2, 4)));
    let expected = format!(
        "ranks 1 and 3 of 4 did not connect within 0.4 s; rank 0 listens on {}",
        short.address
    );
    assert_eq!([says(zero), says(two)], [expected.clone(), expected]);
    let alone = says(join(&short, hello(1, 2)));
    assert!(alone.starts_with("rank 0 did not answer at 127.0.0.1:"), "{alone}");
}

#[test]
fn a_rank_that_connects_twice_is_named() {
    let meeting = meeting("t");
    let zero = join(&meeting, hello(0, 3));
    let twins = [7, 8].map(|pid| join(&meeting, Hello { pid, ..hello(1, 3) }));
    let said = says(zero);
    assert!(said.starts_with("two processes claim to be rank 1: h, pid "), "{said}");
    for twin in twins {
        assert_eq!(says(twin), said);
    }
}

/// Checks that rank 0 listens on only one of the many addresses of the loopback interface.
#[cfg(target_os = "linux")]
#[test]
fn rank_0_listens_at_its_own_address_alone() {
    let meeting = Meeting { timeout: Duration::from_secs(2), ..meeting("t") };
    let zero = join(&meeting, hello(0, 2));
    let start = Instant::now();
    while TcpStream::connect(meeting.address).is_err() {
        assert!(start.elapsed() < Duration::from_secs(2), "rank 0 does not listen");
    }
    let other = SocketAddr::from(([127, 0, 0, 2], meeting.address.port()));
    assert!(TcpStream::connect(other).is_err(), "rank 0 listens at {other} too");
    assert!(says(zero).contains("did not connect within 2 s"));
}

#[test]
fn ranks_on_the_same_gpu_both_get_the_error() {
    let meeting = meeting("t");
    let (zero, twin) =
        (join(&meeting, hello(0, 3)), join(&meeting, Hello { gpu: "GPU-0".into(), ..hello(1, 3) }));
    let expected = "ranks 0 and 1 both use GPU-0: give each its own GPU";
    assert_eq!([says(zero), says(twin)], [expected, expected]);
}

#[test]
fn a_rank_left_over_from_an_earlier_start_is_refused() {
    let meeting = meeting("t");
    let zero = join(&meeting, hello(0, 2));
    let old = says(join(&meeting, Hello { job: "j.old".into(), ..hello(1, 2) }));
    assert!(old.contains("left over from an earlier start"), "{old}");
    let one = join(&meeting, hello(1, 2));
    let (zero, one) = (zero.join().unwrap().unwrap(), one.join().unwrap().unwrap());
    assert_eq!((zero.members().len(), one.id()), (2, [7; 128].as_slice()));
}

#[test]
fn a_port_in_use() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let taken = Meeting { address, ..meeting("t") };
    assert_eq!(
        says(join(&taken, hello(0, 2))),
        format!("port {} is in use: choose another with --port", address.port())
    );
}

#[test]
fn an_address_that_other_machines_reach_needs_a_token() {
    let open = Meeting { address: SocketAddr::from(([0, 0, 0, 0], 0)), ..meeting("") };
    let said = says(join(&open, hello(0, 2)));
    assert!(said.contains("give all ranks the same secret, in MANY_TOKEN"), "{said}");
    let elsewhere = Meeting { address: SocketAddr::from(([192, 0, 2, 1], 9)), ..meeting("t") };
    let said = says(join(&elsewhere, hello(0, 2)));
    assert!(said.contains("name an address of this machine with --bind"), "{said}");
}

#[test]
fn a_rank_with_another_token_is_refused_and_the_others_go_on() {
    let meeting = meeting("secret");
    let zero = join(&meeting, hello(0, 2));
    let stranger = Meeting { token: "guess".into(), ..meeting.clone() };
    assert!(says(join(&stranger, hello(1, 2))).contains("same MANY_TOKEN"));
    let one = join(&meeting, hello(1, 2)).join().unwrap();
    assert!(one.is_ok() && zero.join().unwrap().is_ok());
}

/// Checks that strangers that send nothing, half a message, garbage or too many bytes do not delay
/// the ranks.
#[test]
fn strangers_delay_no_rank() {
    let meeting = meeting("secret");
    let zero = join(&meeting, hello(0, 2));
    let connect = || {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match TcpStream::connect(meeting.address) {
                Ok(stream) => return stream,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
        }
    };
    let start = Instant::now();
    let silent: Vec<TcpStream> = (0..20).map(|_| connect()).collect();
    let mut texts: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        MAGIC.to_vec(),
        [MAGIC.as_slice(), &[3, 0, 0, 0, b'x']].concat(),
        [MAGIC.as_slice(), &u32::MAX.to_le_bytes()].concat(),
        [MAGIC.as_slice(), &Message::Leave.encode()].concat(),
        [MAGIC.as_slice(), &Message::Hello(hello(1, 2), "no seal".into()).encode()].concat(),
    ];
    let whole = [MAGIC.as_slice(), &Message::Hello(hello(1, 2), "x".repeat(64)).encode()].concat();
    texts.extend((1..whole.len()).step_by(17).map(|cut| whole[..cut].to_vec()));
    for text in texts {
        let mut stream = connect();
        let _ = stream.write_all(&text);
    }
    let one = join(&meeting, hello(1, 2)).join().unwrap().unwrap();
    let zero = zero.join().unwrap().unwrap();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    zero.alive().unwrap();
    one.alive().unwrap();
    drop(silent);
}

#[test]
fn another_service_on_the_port_is_an_error() {
    for (says_first, expected) in
        [("HTTP/1.1 400 Bad\r\n", "it sent \"HTTP/1.1\""), ("", "it closed the connection")]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = Meeting { address: listener.local_addr().unwrap(), ..meeting("t") };
        let other = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(says_first.as_bytes()).unwrap();
        });
        let said = says(join(&there, hello(1, 2)));
        assert!(said.contains("is not rank 0 of this sum") && said.contains(expected), "{said}");
        other.join().unwrap();
    }
}

/// Checks that a program that listens on the port but sends contradictory numbers is not accepted
/// as rank 0 of the sum.
#[test]
fn a_rank_0_with_contradictory_numbers_is_an_error() {
    let members = |ranks: &[u32]| ranks.iter().map(|rank| hello(*rank, 2)).collect::<Vec<_>>();
    let cases = [
        (members(&[0, 1, 2]), vec![], "it has 3 ranks, but WORLD_SIZE is 2 here"),
        (members(&[1, 0]), vec![], "its ranks are not in order"),
        (members(&[0, 1]), vec![1], "rank 0 sent 1 lengths for 2 ranks"),
        (members(&[0, 1]), vec![1, 2, 3], "rank 0 sent 3 lengths for 2 ranks"),
    ];
    for (members, lengths, expected) in cases {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = Meeting { address: listener.local_addr().unwrap(), ..meeting("t") };
        let joined = join(&there, hello(1, 2));
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&[MAGIC.as_slice(), &[7; 16]].concat()).unwrap();
        stream.read_exact(&mut [0; 8]).unwrap();
        assert!(matches!(Message::receive(&mut stream), Ok(Message::Hello(..))));
        Message::Welcome(vec![7; 128], members).send(&mut stream).unwrap();
        let _ = Message::Agreed(lengths).send(&mut stream);
        let met = joined.join().unwrap();
        let said = met.and_then(|control| control.agree("f32", "sum", 1)).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
}

/// Checks that a rank whose connection closes without a goodbye counts as lost, and that all other
/// ranks report it within a second.
#[test]
fn a_closed_connection_is_a_lost_rank() {
    let meeting = meeting("secret");
    let (zero, two) = (join(&meeting, hello(0, 3)), join(&meeting, hello(2, 3)));
    // The test plays the role of rank 1, up to the welcome.
    let mut one = loop {
        if let Ok(stream) = TcpStream::connect(meeting.address) {
            break stream;
        }
    };
    let mut greeting = [0; 24];
    one.read_exact(&mut greeting).unwrap();
    let nonce = greeting[8..].try_into().unwrap();
    let sealed = many::control::wire::seal("secret", &nonce, &hello(1, 3));
    one.write_all(&MAGIC).unwrap();
    Message::Hello(hello(1, 3), sealed).send(&mut one).unwrap();
    assert!(matches!(Message::receive(&mut one), Ok(Message::Welcome(..))));
    let (zero, two) = (zero.join().unwrap().unwrap(), two.join().unwrap().unwrap());
    // Sends an incomplete message.
    one.write_all(&Message::Blocks(vec![vec![1; 100]]).encode()[..40]).unwrap();
    drop(one);
    let start = Instant::now();
    for control in [&zero, &two] {
        while control.alive().is_ok() {
            assert!(start.elapsed() < Duration::from_secs(5), "the loss was not noticed");
            thread::sleep(Duration::from_millis(1));
        }
        let said = control.alive().unwrap_err().to_string();
        assert_eq!(said, "rank 1 (h, pid 101) is gone; the sum was aborted");
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(zero.gather(vec![1]).is_err() && two.gather(vec![1]).is_err());
}

/// Checks that a rank that says goodbye does not count as lost, unless another rank waits for it.
#[test]
fn a_rank_that_left_is_named_when_another_waits_for_it() {
    let mut ranks = met(2);
    drop(ranks.pop());
    thread::sleep(Duration::from_millis(100));
    ranks[0].alive().unwrap();
    let said = ranks[0].gather(vec![1]).unwrap_err().to_string();
    assert_eq!(said, "rank 1 (h, pid 101) ended before the block of rank 1 arrived");
}

#[test]
fn a_rank_that_gives_up_reports_the_reason() {
    let ranks = met(3);
    ranks[1].give_up(&many::Error::Shard("no room".into()));
    for rank in [0, 2] {
        let said = ranks[rank].gather(vec![1]).unwrap_err().to_string();
        assert_eq!(said, "rank 1 (h, pid 101) has given up: no room");
    }
}
