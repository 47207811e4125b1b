//! Ranks on the loopback.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::{net::TcpListener, thread, time::Duration};

use many::control::{Control, Meeting, meet, wire::Hello};

/// A meeting at a port that is free.
pub(crate) fn meeting(token: &str) -> Meeting {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    Meeting { address, token: token.into(), timeout: Duration::from_secs(20) }
}

pub(crate) fn hello(rank: u32, world: u32) -> Hello {
    let (host, gpu) = ("h".to_owned(), format!("GPU-{rank}"));
    Hello { rank, world, job: "j".into(), host, pid: 100 + rank, gpu, nccl: 22809 }
}

pub(crate) fn join(meeting: &Meeting, hello: Hello) -> thread::JoinHandle<many::Result<Control>> {
    let meeting = meeting.clone();
    thread::spawn(move || meet(&meeting, hello, || Ok(vec![7; 128])))
}

pub(crate) fn says(joined: thread::JoinHandle<many::Result<Control>>) -> String {
    joined.join().unwrap().unwrap_err().to_string()
}
