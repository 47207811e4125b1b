//! The control plane, in which ranks find each other over TCP, agree on the sum, and detect a lost
//! rank.
//!
//! Rank 0 listens only at the given address. Each other rank sends a hello, which is sealed with
//! the token from the environment. When all ranks have connected, rank 0 distributes NCCL's id. The
//! connections stay open. If a connection closes without a goodbye, its rank counts as lost, and
//! rank 0 reports this to all other ranks within milliseconds.

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

/// The connections of a rank: rank 0 is connected to all other ranks, and every other rank to rank
/// 0.
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

/// The parameters for the rendezvous of the ranks.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// The address on which rank 0 listens.
    pub address: SocketAddr,
    /// The secret that all ranks share. Rank 0 refuses a rank that does not have it.
    pub token: String,
    /// The timeout of the rendezvous, and of each later wait for the other ranks.
    pub timeout: Duration,
}

impl Control {
    /// Returns the bytes that rank 0 distributed, which are NCCL's id.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// Returns this rank.
    pub fn rank(&self) -> Rank {
        Rank { rank: self.rank, world: self.members.len() as u32 }
    }

    /// Returns all members, in rank order.
    pub fn members(&self) -> &[Hello] {
        &self.members
    }

    /// Returns an error that names the lost rank, if a rank is lost. Otherwise, this method only
    /// reads one atomic flag, so it can be polled.
    pub fn alive(&self) -> Result<()> {
        match self.shared.gone() {
            None => Ok(()),
            Some(sentence) => Err(Error::Gone(sentence)),
        }
    }

    /// Checks that all ranks request the same sum, and returns the number of elements on each rank.
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
            let what = format!("the request of rank {missing}");
            match self.next(&what)? {
                (rank, Message::Propose(theirs, operate, length)) => {
                    lengths[rank as usize] = Some(length);
                    if theirs != element {
                        refusal = Some(format!(
                            "rank 0 has elements of type {element}, but rank {rank} has {theirs}: give all ranks the same type"
                        ));
                    } else if operate != operation {
                        refusal = Some(format!(
                            "rank 0 computes a {operation}, but rank {rank} computes a {operate}: give all ranks the same operation"
                        ));
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

    /// Gathers the blocks of all ranks. This method is for interpreters, which cannot use NCCL.
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

    /// Tells the other ranks that this rank is giving up, and gives the reason.
    pub fn give_up(&self, why: &Error) {
        let who = seats::name(&self.members[self.rank as usize]);
        self.shared.declare(format!("{who} has given up: {why}"), &self.connections);
    }

    /// Sends a message to rank 0 or, on rank 0, to all other ranks.
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
            // Messages that arrived before a rank was lost are read before the lost rank is
            // reported.
            match self.inbox.recv_timeout(Duration::from_millis(2)) {
                Ok((rank, Message::Leave)) => {
                    let who = seats::name(&self.members[rank as usize]);
                    return Err(Error::Gone(format!("{who} ended before {what} arrived")));
                }
                Ok(message) => return Ok(message),
                Err(_) => self.alive()?,
            }
            if Instant::now() >= deadline {
                return Err(Error::Gone(format!(
                    "{what} did not arrive within {} s; the sum was aborted",
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
        "rank {rank} sent an unexpected {kind}: do all ranks run the same program?"
    ))
}
