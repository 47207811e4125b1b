//! The control plane: how ranks find each other over TCP, agree, and notice that one is gone.
//!
//! Rank 0 listens at the address that it was given, and nowhere else. The others say who they are, sealed
//! with the token of the environment; when all have come, rank 0 hands NCCL's id around. The
//! connections stay open: one that ends before its rank has taken leave is a rank that died, and rank 0
//! tells all others within moments.

mod connection;
mod meeting;
pub mod seats;
pub mod wire;

use std::{
    net::SocketAddr,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use crate::{Error, Rank, Result};
use connection::{Connection, Shared};
use wire::{Hello, Message, said};

pub use connection::SILENCE;
pub use meeting::meet;

/// The group's connections: of rank 0 to all others, of every other to rank 0.
#[derive(Debug)]
pub struct Control {
    rank: u32,
    members: Vec<Hello>,
    id: Vec<u8>,
    connections: Vec<Connection>,
    inbox: mpsc::Receiver<(u32, Message)>,
    shared: Arc<Shared>,
    timeout: Duration,
}

/// How ranks meet.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// Where rank 0 listens.
    pub address: SocketAddr,
    /// The secret of those who may join.
    pub token: String,
    /// How long it may take.
    pub timeout: Duration,
}

impl Control {
    /// What rank 0 has handed around: NCCL's id.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// This rank.
    pub fn rank(&self) -> Rank {
        Rank { rank: self.rank, world: self.members.len() as u32 }
    }

    /// Everybody, in order.
    pub fn members(&self) -> &[Hello] {
        &self.members
    }

    /// Whether all live; or else who is gone. It only reads a word: ask often.
    pub fn alive(&self) -> Result<()> {
        match self.shared.gone() {
            None => Ok(()),
            Some(sentence) => Err(Error::Gone(sentence)),
        }
    }

    /// What all ranks are to add together: the elements of each, if they want the same.
    pub fn agree(&self, element: &str, operation: &str, here: u64) -> Result<Vec<u64>> {
        if self.rank > 0 {
            self.tell(&Message::Propose(element.into(), operation.into(), here))?;
            let world = self.members.len();
            return match self.next("the ranks' agreement")? {
                (_, Message::Agreed(lengths)) if lengths.len() == world => Ok(lengths),
                (_, Message::Agreed(lengths)) => Err(Error::Gone(format!(
                    "rank 0 sent {} lengths for {world} ranks: do all ranks run the same program?",
                    lengths.len()
                ))),
                (_, Message::Refused(why)) => Err(Error::Meeting(said(&why))),
                (_, other) => Err(unexpected(0, &other)),
            };
        }
        let mut lengths = vec![None; self.members.len()];
        lengths[0] = Some(here);
        let mut refusal = None;
        while let Some(missing) = lengths.iter().position(Option::is_none) {
            let what = format!("what rank {missing} is to add");
            match self.next(&what)? {
                (rank, Message::Propose(theirs, operate, length)) => {
                    lengths[rank as usize] = Some(length);
                    if theirs != element {
                        refusal = Some(format!("rank 0 adds {element}, rank {rank} {theirs}"));
                    } else if operate != operation {
                        refusal =
                            Some(format!("rank 0 wants a {operation}, rank {rank} a {operate}"));
                    }
                }
                (rank, other) => return Err(unexpected(rank, &other)),
            }
        }
        let lengths: Vec<u64> = lengths.into_iter().flatten().collect();
        match refusal {
            None => self.tell(&Message::Agreed(lengths.clone())).map(|()| lengths),
            Some(why) => {
                self.tell(&Message::Refused(why.clone()))?;
                Err(Error::Meeting(why))
            }
        }
    }

    /// The blocks of all ranks, for interpreters, which have no NCCL.
    pub fn gather(&self, block: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        if self.rank > 0 {
            self.tell(&Message::Blocks(vec![block]))?;
            return match self.next("the blocks of all ranks")? {
                (_, Message::Blocks(blocks)) if blocks.len() == self.members.len() => Ok(blocks),
                (_, other) => Err(unexpected(0, &other)),
            };
        }
        let mut blocks = vec![None; self.members.len()];
        blocks[0] = Some(block);
        while let Some(missing) = blocks.iter().position(Option::is_none) {
            match self.next(&format!("the block of rank {missing}"))? {
                (rank, Message::Blocks(mut theirs)) if theirs.len() == 1 => {
                    blocks[rank as usize] = theirs.pop();
                }
                (rank, other) => return Err(unexpected(rank, &other)),
            }
        }
        let blocks: Vec<Vec<u8>> = blocks.into_iter().flatten().collect();
        self.tell(&Message::Blocks(blocks.clone()))?;
        Ok(blocks)
    }

    /// Tells all others that this rank cannot go on, and why.
    pub fn give_up(&self, why: &Error) {
        let who = seats::name(&self.members[self.rank as usize]);
        self.shared.declare(format!("{who} has given up: {why}"), &self.connections);
    }

    /// To rank 0, or from it to all others.
    fn tell(&self, message: &Message) -> Result<()> {
        for connection in &self.connections {
            if connection.send(message).is_err() {
                self.shared.lose(&self.members[connection.rank() as usize], &self.connections);
            }
        }
        self.alive()
    }

    fn next(&self, what: &str) -> Result<(u32, Message)> {
        let deadline = Instant::now() + self.timeout;
        loop {
            // What has come before someone left is read first.
            match self.inbox.recv_timeout(Duration::from_millis(2)) {
                Ok((rank, Message::Leave)) => {
                    let who = seats::name(&self.members[rank as usize]);
                    return Err(Error::Gone(format!("{who} has ended, and {what} was waited for")));
                }
                Ok(message) => return Ok(message),
                Err(_) => self.alive()?,
            }
            if Instant::now() >= deadline {
                return Err(Error::Gone(format!(
                    "{what} did not come within {} s; the sum was aborted",
                    self.timeout.as_secs_f64()
                )));
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.shared.end();
        for connection in &self.connections {
            let _ = connection.send(&Message::Leave);
            connection.close();
        }
    }
}

fn unexpected(rank: u32, message: &Message) -> Error {
    let text = format!("{message:?}");
    let kind = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    Error::Gone(format!(
        "rank {rank} says {kind} where nobody asked for it: do all ranks run the same program?"
    ))
}
