//! Creates ranks on the loopback interface.
#![allow(dead_code, reason = "each test uses a part")]

use std::{net::TcpListener, thread, time::Duration};

use many::control::{Control, Meeting, meet, wire::Hello};

/// Returns the parameters of a rendezvous on a free port.
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
