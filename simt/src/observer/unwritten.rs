//! Uses of uninitialized values.

/// The use of an uninitialized value by an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// The role of the value (an address, a condition and so on); empty if the value is stored.
    pub what: &'static str,
    /// The origin of the value.
    pub from: Unwritten,
}

impl Use {
    /// Returns whether the value comes from a shuffle.
    pub fn is_of_shuffle(self) -> bool {
        matches!(self.from, Unwritten::Shuffle(_))
    }
}

/// The origin of an uninitialized value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwritten {
    /// The value is that of a variable that was never set.
    Variable,
    /// The value was computed from such a variable, which this instruction used first.
    Value(u32),
    /// The load at this instruction read the value, or a value that it was computed from, from
    /// memory that was never written.
    Load(u32),
    /// The value comes from the shuffle at this instruction, whose source lane does not take part.
    Shuffle(u32),
}
