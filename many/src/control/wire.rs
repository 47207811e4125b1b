//! What ranks say to each other: a few kinds of message, each a length and a text of JSON.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What both sides say first, so that neither takes another service for the other.
pub const MAGIC: [u8; 8] = *b"many/1\r\n";

/// The longest message: a few hundred bytes a rank.
pub const LONGEST: u32 = 1 << 20;

/// A number that is used once: what a hello is sealed with, beside the token.
pub type Nonce = [u8; 16];

/// Who a rank is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// Which of the ranks.
    pub rank: u32,
    /// How many ranks it was told that there are.
    pub world: u32,
    /// The launcher's name for the job, and how often it was started again.
    pub job: String,
    /// The machine.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// The GPU, or nothing.
    pub gpu: String,
    /// NCCL's version, as it counts it; 0 of interpreters.
    pub nccl: u32,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// To rank 0: here I am, and the seal of the one that knows the token.
    Hello(Hello, String),
    /// From rank 0: all have come; NCCL's id, and who they are.
    Welcome(Vec<u8>, Vec<Hello>),
    /// From rank 0: it cannot be, and why.
    Refused(String),
    /// The connection lives.
    Ping,
    /// To rank 0: what is to be added: type, operation, elements here.
    Propose(String, String, u64),
    /// From rank 0: all want the same; the elements of each.
    Agreed(Vec<u64>),
    /// To rank 0, and back from it: blocks of interpreters. GPUs' data never goes this way.
    Blocks(Vec<Vec<u8>>),
    /// From rank 0: someone is gone, in a sentence.
    Gone(String),
    /// This rank is done, and means to close.
    Leave,
}

impl Message {
    /// The message as it travels.
    pub fn encode(&self) -> Vec<u8> {
        let text = serde_json::to_vec(self).expect("numbers and texts have JSON");
        let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
        bytes.extend(text);
        bytes
    }

    /// The message in a text that has come.
    pub fn decode(text: &[u8]) -> io::Result<Message> {
        let bad =
            |error| io::Error::new(io::ErrorKind::InvalidData, format!("no message: {error}"));
        serde_json::from_slice(text).map_err(bad)
    }

    /// Sends it.
    pub fn send(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.encode())
    }

    /// The next one. A length that no message has is an error, and nothing is allocated for it.
    pub fn receive(from: &mut impl Read) -> io::Result<Message> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > LONGEST {
            let text = format!("a message of {length} bytes, and the longest has {LONGEST}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let mut text = vec![0; length as usize];
        from.read_exact(&mut text)?;
        Message::decode(&text)
    }
}

/// What only someone who knows the token can write below a hello: the token itself never travels.
pub fn seal(token: &str, nonce: &Nonce, hello: &Hello) -> String {
    let text = serde_json::to_vec(hello).expect("numbers and texts have JSON");
    // HMAC's two rounds, with keys of one block each.
    let key = |pad: u8| {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let mut block = [pad; 64];
        block.iter_mut().zip(digest).for_each(|(to, from)| *to ^= from);
        block
    };
    let inner = Sha256::new().chain_update(key(0x36)).chain_update(nonce).chain_update(text);
    let outer = Sha256::new().chain_update(key(0x5c)).chain_update(inner.finalize());
    outer.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What another rank says, as a line that can be shown: it may be nothing, or anything.
pub fn said(text: &str) -> String {
    let line: String = text.chars().filter(|c| !c.is_control()).take(1000).collect();
    if line.trim().is_empty() { "another rank gave up, and did not say why".into() } else { line }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn messages() -> Vec<Message> {
        let hello = Hello {
            rank: 1,
            world: 2,
            job: "j.0".into(),
            host: "h".into(),
            pid: 7,
            gpu: "GPU-1".into(),
            nccl: 22809,
        };
        vec![
            Message::Hello(hello.clone(), seal("token", &[1; 16], &hello)),
            Message::Welcome(vec![0, 255, 3], vec![hello.clone(), hello]),
            Message::Refused("no \"reason\"".into()),
            Message::Ping,
            Message::Propose("f32".into(), "sum".into(), u64::MAX),
            Message::Agreed(vec![1, 2]),
            Message::Blocks(vec![vec![1], vec![]]),
            Message::Gone("rank 1".into()),
            Message::Leave,
        ]
    }

    #[test]
    fn messages_come_as_they_went() {
        for message in messages() {
            let bytes = message.encode();
            assert_eq!(Message::receive(&mut bytes.as_slice()).unwrap(), message);
            for cut in 0..bytes.len() {
                assert!(Message::receive(&mut &bytes[..cut]).is_err(), "{message:?}, {cut} bytes");
            }
        }
    }

    #[test]
    fn a_length_that_nobody_sends_is_not_allocated() {
        let error = Message::receive(&mut u32::MAX.to_le_bytes().as_slice()).unwrap_err();
        assert!(error.to_string().contains("4294967295 bytes"), "{error}");
    }

    #[test]
    fn a_seal_is_of_the_token_the_nonce_and_every_field() {
        let hello = Hello { rank: 1, world: 2, ..Hello::default() };
        let sealed = seal("token", &[1; 16], &hello);
        assert_eq!(sealed, seal("token", &[1; 16], &hello));
        assert_ne!(sealed, seal("Token", &[1; 16], &hello));
        assert_ne!(sealed, seal("token", &[2; 16], &hello));
        assert_ne!(sealed, seal("token", &[1; 16], &Hello { rank: 0, ..hello }));
    }

    #[test]
    fn what_others_say_is_a_line() {
        assert_eq!(said("rank 1\r\n is\u{1b}[2J gone"), "rank 1 is[2J gone");
        assert_eq!(said(" \n"), "another rank gave up, and did not say why");
        assert_eq!(said(&"x".repeat(5000)).len(), 1000);
    }

    proptest! {
        /// Garbage, and messages with some bytes changed: an error or a message, and never a panic.
        #[test]
        fn garbage_is_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Message::receive(&mut bytes.as_slice());
        }

        #[test]
        fn changed_bytes_are_an_error_or_a_message(
            which in 0..9usize,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        ) {
            let mut bytes = messages()[which].encode();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(message) = Message::receive(&mut bytes.as_slice()) {
                prop_assert_eq!(Message::receive(&mut message.encode().as_slice()).unwrap(), message);
            }
        }
    }
}
