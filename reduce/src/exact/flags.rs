//! The values that an integer cannot represent: NaN, infinities, and the sign of zero.

/// The special values that have been added to an accumulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u8);

impl Flags {
    /// A NaN, or a product of zero and an infinity.
    pub(crate) const NAN: Flags = Flags(1);
    /// +∞.
    pub(crate) const ABOVE: Flags = Flags(2);
    /// -∞.
    pub(crate) const BELOW: Flags = Flags(4);
    /// An element other than -0.
    pub(crate) const OTHER: Flags = Flags(8);

    const ALL: u8 = 15;

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// Returns the flags with these bits, or `None` if a bit is unknown.
    pub(crate) fn of_bits(bits: u8) -> Option<Flags> {
        (bits & !Flags::ALL == 0).then_some(Flags(bits))
    }

    pub(crate) fn set(&mut self, flags: Flags) {
        self.0 |= flags.0;
    }

    pub(crate) fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Returns whether a NaN or both infinities were added.
    pub(crate) fn is_nan(self) -> bool {
        self.has(Flags::NAN) || (self.has(Flags::ABOVE) && self.has(Flags::BELOW))
    }

    /// Returns whether a NaN or an infinity was added.
    pub(crate) fn is_special(self) -> bool {
        self.0 & (Flags::NAN.0 | Flags::ABOVE.0 | Flags::BELOW.0) != 0
    }

    /// Returns the flags in canonical form: all accumulators whose result is NaN have the same
    /// flags, because a device does not report why the result is NaN.
    pub(crate) fn canonical(self) -> Flags {
        if self.is_nan() { Flags(Flags::NAN.0 | Flags::OTHER.0) } else { self }
    }
}
