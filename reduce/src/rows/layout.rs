//! Where rows lie.

use crate::error::{Error, Result};

/// The most elements of a row.
pub const LONGEST: u64 = 1 << 32;

/// Rows of a slice: so many, of so many elements, whose beginnings are `pitch` elements apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    rows: u64,
    elements: u64,
    pitch: u64,
}

impl Rows {
    /// Rows that lie one behind the other: `rows` of them, each of `elements`.
    pub fn new(rows: u64, elements: u64) -> Rows {
        Rows { rows, elements, pitch: elements }
    }

    /// The same rows, with their beginnings that many elements apart.
    pub fn pitch(self, elements: u64) -> Rows {
        Rows { pitch: elements, ..self }
    }

    /// How many rows there are, elements of each, and elements from one beginning to the next.
    pub fn numbers(self) -> (u64, u64, u64) {
        (self.rows, self.elements, self.pitch)
    }

    /// Elements from the first of the first row to the last of the last. As there may be more than fit
    /// a `u64`, a wider number.
    fn span(self) -> u128 {
        u128::from(self.rows.max(1) - 1) * u128::from(self.pitch) + u128::from(self.elements)
    }

    /// Whether a slice of that length has these rows.
    pub(crate) fn check(self, slice: u64) -> Result<Rows> {
        let Rows { rows, elements, pitch } = self;
        if rows == 0 || elements == 0 {
            return Err(Error::NoRows { rows, elements });
        }
        if elements > LONGEST {
            return Err(Error::LongRows { elements, most: LONGEST });
        }
        if pitch < elements {
            return Err(Error::Pitch { elements, pitch });
        }
        if self.span() > u128::from(slice) {
            return Err(Error::ShortSlice { slice, rows, elements, pitch, span: self.span() });
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rows: Rows, slice: u64) -> String {
        rows.check(slice).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_added_is_a_sentence() {
        assert!(Rows::new(3, 4).check(12).is_ok());
        assert!(Rows::new(1, LONGEST).check(LONGEST).is_ok());
        assert!(Rows::new(3, 4).pitch(5).check(14).is_ok());
        assert!(said(Rows::new(0, 4), 12).contains("0 rows of 4"));
        assert!(said(Rows::new(4, 0), 12).contains("4 rows of 0"));
        assert!(said(Rows::new(3, 4).pitch(3), 12).contains("at least 4"));
        assert!(said(Rows::new(3, 4).pitch(5), 13).contains("end at element 14"));
        assert!(said(Rows::new(1, LONGEST + 1), u64::MAX).contains("4294967296"));
        let beyond = Rows::new(u64::MAX, 3).pitch(u64::MAX);
        assert!(
            said(beyond, u64::MAX).contains("340282366920938463408034375210639556613"),
            "{}",
            said(beyond, u64::MAX)
        );
    }
}
