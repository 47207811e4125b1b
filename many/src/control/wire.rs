//! The messages between ranks. Each message is a length, followed by that many bytes of JSON.

use std::io::{self, Read, Write};

use hmac_sha256::{HMAC, Hash};
use serde::{Deserialize, Serialize};

/// The bytes that each side sends first, so that neither side mistakes another service for its
/// peer.
pub const MAGIC: [u8; 8] = *b"many/1\r\n";

/// The maximum length of a message in bytes. A list of ranks needs a few hundred bytes for each
/// rank.
pub const LONGEST: u32 = 1 << 20;

/// A nonce, which is a number that is used only once. A rank seals its hello with the nonce and the
/// token.
pub type Nonce = [u8; 16];

/// The identity of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The rank.
    pub rank: u32,
    /// The number of ranks, according to this rank's launcher.
    pub world: u32,
    /// The launcher's name for the job, with the job's restart count.
    pub job: String,
    /// The host name.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// The UUID of the GPU, or an empty string.
    pub gpu: String,
    /// NCCL's version in NCCL's own encoding, or 0 for interpreters.
    pub nccl: u32,
}

/// A message between ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// To rank 0: the identity of this rank, and a seal that proves that the rank has the token.
    Hello(Hello, String),
    /// From rank 0, once all ranks have connected: NCCL's id and the members.
    Welcome(Vec<u8>, Vec<Hello>),
    /// From rank 0: the reason why a rank cannot join, or why the ranks do not agree.
    Refused(String),
    /// A heartbeat.
    Ping,
    /// To rank 0: the element type, the operation, and the number of elements on this rank.
    Propose(String, String, u64),
    /// From rank 0, if all ranks request the same sum: the number of elements on each rank.
    Agreed(Vec<u64>),
    /// To rank 0, a rank's block; from rank 0, all blocks. Only interpreters send blocks this way.
    Blocks(Vec<Vec<u8>>),
    /// A sentence that states which rank is lost or has given up, and the reason.
    Gone(String),
    /// A goodbye: this rank has finished and will close its connections.
    Leave,
}

impl Message {
    /// Returns the encoded message.
    pub fn encode(&self) -> Vec<u8> {
        let text = serde_json::to_vec(self).expect("numbers and texts have JSON");
        let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
        bytes.extend(text);
        bytes
    }

    /// Decodes a message without its length.
    pub fn decode(text: &[u8]) -> io::Result<Message> {
        let bad =
            |error| io::Error::new(io::ErrorKind::InvalidData, format!("not a message: {error}"));
        serde_json::from_slice(text).map_err(bad)
    }

    /// Sends the message.
    pub fn send(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.encode())
    }

    /// Receives the next message. A length above the limit is an error, and no memory is allocated
    /// for it.
    pub fn receive(from: &mut impl Read) -> io::Result<Message> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > LONGEST {
            let text = format!("a message of {length} bytes exceeds the limit of {LONGEST}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let mut text = vec![0; length as usize];
        from.read_exact(&mut text)?;
        Message::decode(&text)
    }
}

/// Returns the seal of a hello, which is an HMAC whose key is derived from the token. The token
/// itself is never sent.
pub fn seal(token: &str, nonce: &Nonce, hello: &Hello) -> String {
    let text = serde_json::to_vec(hello).expect("numbers and texts have JSON");
    let key = Hash::hash(token.as_bytes());
    let mac = HMAC::mac([&nonce[..], &text].concat(), key);
    mac.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the reason that another rank gave, as one printable line. The received text may be empty
/// or contain control characters.
pub fn said(text: &str) -> String {
    let line: String = text.chars().filter(|c| !c.is_control()).take(1000).collect();
    if line.trim().is_empty() { "another rank gave up and gave no reason".into() } else { line }
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
    fn messages_survive_a_round_trip() {
        for message in messages() {
            let bytes = message.encode();
            assert_eq!(Message::receive(&mut bytes.as_slice()).unwrap(), message);
            for cut in 0..bytes.len() {
                assert!(Message::receive(&mut &bytes[..cut]).is_err(), "{message:?}, {cut} bytes");
            }
        }
    }

    #[test]
    fn a_length_above_the_limit_is_not_allocated() {
        let error = Message::receive(&mut u32::MAX.to_le_bytes().as_slice()).unwrap_err();
        assert!(error.to_string().contains("4294967295 bytes"), "{error}");
    }

    #[test]
    fn a_seal_covers_the_token_the_nonce_and_every_field() {
        let hello = Hello { rank: 1, world: 2, ..Hello::default() };
        let sealed = seal("token", &[1; 16], &hello);
        assert_eq!(sealed, seal("token", &[1; 16], &hello));
        assert_ne!(sealed, seal("Token", &[1; 16], &hello));
        assert_ne!(sealed, seal("token", &[2; 16], &hello));
        assert_ne!(sealed, seal("token", &[1; 16], &Hello { rank: 0, ..hello }));
    }

    #[test]
    fn a_reason_is_one_printable_line() {
        assert_eq!(said("rank 1\r\n is\u{1b}[2J gone"), "rank 1 is[2J gone");
        assert_eq!(said(" \n"), "another rank gave up and gave no reason");
        assert_eq!(said(&"x".repeat(5000)).len(), 1000);
    }

    proptest! {
        /// Checks that random bytes and messages with changed bytes give an error or a message, but
        /// no panic.
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
