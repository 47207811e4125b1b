//! The layout of columns in memory.

use crate::{
    Rows,
    error::{Error, Result},
    rows::LONGEST,
};

/// The layout of columns in a slice: a batch of matrices whose columns are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Columns {
    pub(crate) batches: u64,
    pub(crate) rows: u64,
    pub(crate) inner: u64,
    /// The distance between rows, in elements.
    pub(crate) pitch: u64,
    /// The distance between batches, in elements.
    pub(crate) apart: u64,
}

impl Columns {
    /// Returns the layout of the columns of a contiguous matrix of `rows` rows and `columns`
    /// columns.
    pub fn new(rows: u64, columns: u64) -> Columns {
        let apart = rows.saturating_mul(columns);
        Columns { batches: 1, rows, inner: columns, pitch: columns, apart }
    }

    /// Returns the same columns, but of a matrix whose rows start `elements` elements apart.
    pub fn pitch(self, elements: u64) -> Columns {
        Columns { pitch: elements, ..self }
    }

    /// Returns the columns of `count` such matrices, which start `elements` elements apart.
    pub fn batches(self, count: u64, elements: u64) -> Columns {
        Columns { batches: count, apart: elements, ..self }
    }

    /// Returns the layout for a reduction along an axis of a contiguous tensor. The results have
    /// the shape of the tensor without the axis.
    ///
    /// # Errors
    /// The tensor has no such axis, or more elements than a `u64` can count.
    pub fn of_axis(shape: &[u64], axis: usize) -> Result<Columns> {
        let Some(rows) = shape.get(axis).copied() else {
            return Err(Error::NoAxis { axis, rank: shape.len() });
        };
        let product = |lengths: &[u64]| lengths.iter().try_fold(1u64, |all, n| all.checked_mul(*n));
        let parts = (product(&shape[..axis]), product(&shape[axis + 1..]));
        let large = || Error::LargeShape { shape: shape.to_vec() };
        let (Some(batches), Some(inner)) = parts else { return Err(large()) };
        batches.checked_mul(inner).and_then(|all| all.checked_mul(rows)).ok_or_else(large)?;
        Ok(Columns { batches, rows, inner, pitch: inner, apart: rows * inner })
    }

    /// Returns the number of results.
    pub fn results(self) -> u64 {
        self.batches.saturating_mul(self.inner)
    }

    /// Returns these columns as rows if the elements of each column are contiguous.
    pub(crate) fn as_rows(self) -> Option<Rows> {
        (self.inner == 1 && self.pitch == 1 && self.rows > 0 && self.batches > 0)
            .then(|| Rows::new(self.batches, self.rows).pitch(self.apart))
    }

    /// Checks that a slice of `slice` elements contains the columns and that a result of `room`
    /// elements has room for their results. Returns the number of elements that the columns span.
    pub(crate) fn check(self, slice: u64, room: u64) -> Result<u64> {
        let Columns { batches, rows, inner, pitch, apart } = self;
        if rows > LONGEST {
            return Err(Error::LongRows { elements: rows, most: LONGEST });
        }
        if pitch < inner {
            return Err(Error::Pitch { elements: inner, pitch });
        }
        let results = u128::from(batches) * u128::from(inner);
        if u128::from(room) < results {
            return Err(Error::NoRoomForRows {
                room,
                rows: results.try_into().unwrap_or(u64::MAX),
            });
        }
        if results == 0 || rows == 0 {
            return Ok(0);
        }
        let [batches, rows, inner, pitch, apart] =
            [batches, rows, inner, pitch, apart].map(u128::from);
        let span = (batches - 1).saturating_mul(apart).saturating_add((rows - 1) * pitch + inner);
        if span > u128::from(slice) {
            return Err(Error::ShortColumns { slice, columns: format!("{self:?}"), span });
        }
        Ok(span as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_divides_a_shape() {
        let of = |shape: &[u64], axis| {
            let Columns { batches, rows, inner, .. } = Columns::of_axis(shape, axis).unwrap();
            (batches, rows, inner)
        };
        assert_eq!(of(&[7], 0), (1, 7, 1));
        assert_eq!(of(&[2, 3, 4, 5], 0), (1, 2, 60));
        assert_eq!(of(&[2, 3, 4, 5], 2), (6, 4, 5));
        assert_eq!(of(&[2, 3, 4, 5], 3), (24, 5, 1));
        assert_eq!(of(&[2, 0, 4], 1), (2, 0, 4));
        assert!(Columns::of_axis(&[2, 3], 2).unwrap_err().to_string().contains("no axis 2"));
        let error = Columns::of_axis(&[1 << 40, 3, 1 << 40], 1).unwrap_err().to_string();
        assert!(error.contains("[1099511627776, 3, 1099511627776]"), "{error}");
        assert!(Columns::of_axis(&[1 << 40, 0, 1 << 40], 1).is_err());
    }

    #[test]
    fn columns_that_do_not_fit_are_errors() {
        let said =
            |columns: Columns, slice, room| columns.check(slice, room).unwrap_err().to_string();
        assert_eq!(Columns::new(3, 4).check(12, 4).unwrap(), 12);
        assert_eq!(Columns::new(3, 4).pitch(5).check(14, 4).unwrap(), 14);
        assert_eq!(Columns::new(0, 4).check(0, 4).unwrap(), 0);
        assert!(said(Columns::new(3, 4), 11, 4).contains("end at element 12"));
        assert!(said(Columns::new(3, 4), 12, 3).contains("room for 3"));
        assert!(said(Columns::new(3, 4).pitch(3), 12, 4).contains("at least 4"));
        assert!(said(Columns::new(1 << 33, 4), u64::MAX, 4).contains("4294967296"));
        assert!(
            said(Columns::new(1 << 32, 1 << 32), u64::MAX, u64::MAX)
                .contains("18446744073709551616")
        );
    }
}
