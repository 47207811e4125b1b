//! The layout of rows in memory.

use crate::error::{Error, Result};

/// The maximum number of elements in a row.
pub const LONGEST: u64 = 1 << 32;

/// The layout of rows in a slice: their number, their length in elements, and the distance between
/// their starts in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    rows: u64,
    elements: u64,
    pitch: u64,
}

impl Rows {
    /// Returns the layout of `rows` contiguous rows of `elements` elements each.
    pub fn new(rows: u64, elements: u64) -> Rows {
        Rows { rows, elements, pitch: elements }
    }

    /// Returns the same rows, but starting `elements` elements apart.
    pub fn pitch(self, elements: u64) -> Rows {
        Rows { pitch: elements, ..self }
    }

    /// Returns the number of rows, the number of elements in each row, and the distance between the
    /// starts of neighbouring rows in elements.
    pub fn numbers(self) -> (u64, u64, u64) {
        (self.rows, self.elements, self.pitch)
    }

    /// Returns the number of elements from the start of the first row to the end of the last, if a
    /// `u64` can hold it.
    pub fn span(self) -> Option<u64> {
        self.wide_span().try_into().ok()
    }

    fn wide_span(self) -> u128 {
        u128::from(self.rows.max(1) - 1) * u128::from(self.pitch) + u128::from(self.elements)
    }

    /// Checks that a slice of `slice` elements contains the rows and that a result of `room`
    /// elements has room for their sums. Returns the number of elements that the rows span.
    pub(crate) fn check(self, slice: u64, room: u64) -> Result<u64> {
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
        if self.wide_span() > u128::from(slice) {
            return Err(Error::ShortSlice { slice, rows, elements, pitch, span: self.wide_span() });
        }
        if room < rows {
            return Err(Error::NoRoomForRows { room, rows });
        }
        Ok(self.wide_span() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rows: Rows, slice: u64) -> String {
        rows.check(slice, u64::MAX).unwrap_err().to_string()
    }

    #[test]
    fn rows_that_do_not_fit_are_errors() {
        assert_eq!(Rows::new(3, 4).check(12, 3).unwrap(), 12);
        assert_eq!(Rows::new(1, LONGEST).check(LONGEST, 1).unwrap(), LONGEST);
        assert_eq!(Rows::new(3, 4).pitch(5).check(14, 9).unwrap(), 14);
        assert!(Rows::new(3, 4).check(12, 2).unwrap_err().to_string().contains("2 sums"));
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
