//! Dot products on the CPU.

use super::check;
use crate::{
    Accumulator, Element, Result,
    element::{Itself, Read, Wide, WideElement},
    error::same_length,
    fold::{tree, warps_of},
    operate::Operate,
    operations::Sum,
};

/// Returns the sum of the products of corresponding elements, bit-identical to the result on the
/// GPU. The dot product of a slice with itself is the sum of the squares of its elements.
///
/// # Errors
/// The slices have different lengths, or the elements are integers narrower than 32 bits.
pub fn dot<T: Element>(a: &[T], b: &[T]) -> Result<T::Output> {
    read::<T, Itself>(a, b)
}

/// Returns the dot product of elements that are converted to a type of twice the size before they
/// are multiplied, bit-identical to the result on the GPU.
///
/// # Errors
/// The slices have different lengths.
pub fn dot_wide<T: WideElement>(a: &[T], b: &[T]) -> Result<T::Wider> {
    read::<T, Wide>(a, b)
}

/// Returns the dot product of elements that are converted as `W` specifies.
pub(crate) fn read<T: Element + Read<W>, W>(a: &[T], b: &[T]) -> Result<<T as Read<W>>::Value> {
    check::<T>()?;
    same_length(a.len(), b.len())?;
    if a.is_empty() {
        return Ok(Accumulator::ZERO);
    }
    let width = 16 / size_of::<T>();
    let warps = |chunk: std::ops::Range<usize>, threads| {
        let mut sums = vec![<T as Read<W>>::Value::ZERO; threads * width];
        let mut products = Vec::with_capacity(sums.len());
        let (a, b) = (a[chunk.clone()].chunks(sums.len()), b[chunk].chunks(sums.len()));
        for (a, b) in a.zip(b) {
            products.clear();
            <T as Read<W>>::read(a, |_, values| products.extend_from_slice(values));
            <T as Read<W>>::read(b, |before, values| {
                for (product, value) in products[before..].iter_mut().zip(values) {
                    *product = product.times(*value);
                }
            });
            for (sum, product) in sums.iter_mut().zip(&products) {
                *sum = Sum::join(*sum, *product);
            }
        }
        warps_of::<_, Sum>(sums, width)
    };
    Ok(tree::<_, Sum>(a.len(), size_of::<T>(), warps).canonical())
}
