//! Conversions between accumulators and bytes, in version 1 of the layout that EXACT.md defines.

use super::{ExactAccumulator, ExactFloat, accumulator::MOST, flags::Flags, words::Words};
use crate::error::{Error, Result};

/// The first bytes of an accumulator.
const MAGIC: [u8; 4] = *b"SBXA";

/// The number of bytes before the digits.
const HEAD: usize = 16;

impl<A: ExactFloat> ExactAccumulator<A> {
    /// The version of the bytes that [`to_bytes`](ExactAccumulator::to_bytes) writes.
    pub const VERSION: u8 = 1;

    /// The number of bytes that [`to_bytes`](ExactAccumulator::to_bytes) returns: 96 for `f32`, 552
    /// for `f64`.
    pub const BYTES: usize = HEAD + 4 * A::LAYOUT.window.words;

    /// Returns the accumulator as bytes: 96 bytes for `f32`, and 552 for `f64`. The bytes depend
    /// only on the elements, and not on their order, on the merges or on the machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut digits = self.words.digits();
        if self.flags.is_special() {
            digits.fill(0); // The result does not depend on the digits.
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend([Self::VERSION, A::LAYOUT.kind, self.flags.canonical().bits(), 0]);
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(digits.iter().flat_map(|digit| digit.to_le_bytes()));
        bytes
    }

    /// Returns the accumulator that has these bytes.
    ///
    /// # Errors
    /// The bytes are not an accumulator of this type and version.
    pub fn from_bytes(bytes: &[u8]) -> Result<ExactAccumulator<A>> {
        let layout = A::LAYOUT;
        let expected = Self::BYTES;
        let wrong = |what: String| Error::NotAnAccumulator { name: layout.name, what };
        let Some((head, digits)) = bytes.split_at_checked(HEAD) else {
            return Err(wrong(format!("there are {} bytes instead of {expected}", bytes.len())));
        };
        if head[..4] != MAGIC {
            return Err(wrong(format!("they begin with {:?} instead of {MAGIC:?}", &head[..4])));
        }
        if head[4] != Self::VERSION {
            let (found, known) = (head[4], Self::VERSION);
            return Err(wrong(format!(
                "they have version {found}, but this crate reads version {known}"
            )));
        }
        if head[5] != layout.kind {
            let (found, own) = (head[5], layout.kind);
            return Err(wrong(format!("they hold a sum of {found} bits instead of {own}")));
        }
        if bytes.len() != expected {
            return Err(wrong(format!("there are {} bytes instead of {expected}", bytes.len())));
        }
        let flags = Flags::of_bits(head[6]).filter(|_| head[7] == 0);
        let flags = flags
            .ok_or_else(|| wrong("they have flags that only a newer version defines".into()))?;
        let count = u64::from_le_bytes(head[8..].try_into().expect("eight of sixteen bytes"));
        if count > MOST {
            return Err(wrong(format!("they count {count} elements, but the maximum is 2^62")));
        }
        let (digits, _) = digits.as_chunks();
        let digits: Vec<u32> = digits.iter().map(|digit| u32::from_le_bytes(*digit)).collect();
        Ok(ExactAccumulator::of(Words::of_digits(layout.window, &digits), flags, count))
    }
}
