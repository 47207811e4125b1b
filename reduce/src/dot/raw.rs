//! Dot products of elements at two addresses.
#![expect(unsafe_code, reason = "callers guarantee the memory at an address")]

use super::{check, host};
use crate::{
    Element, Result,
    cuda::{Address, Stream},
    element::Read,
    kept::of,
};

/// Writes the dot product of the `n` elements at each of two addresses, which are converted as `W`
/// specifies ([`Itself`](crate::Itself) or [`Wide`](crate::Wide)), to a third address. Does not
/// wait, and can be captured into a graph.
///
/// # Errors
/// The elements are integers narrower than 32 bits, or one of the errors of
/// [`reduce_into`](crate::raw::reduce_into) occurs.
///
/// # Safety
/// The requirements are those of [`reduce_into`](crate::raw::reduce_into), for both inputs.
pub unsafe fn dot_into<T: Element + Read<W>, W>(
    stream: Stream,
    a: u64,
    b: u64,
    n: u64,
    output: u64,
) -> Result<()> {
    check::<T>()?;
    // SAFETY: guaranteed by the caller.
    let (a, b, output) = unsafe {
        (
            Address::promised::<T>("first input", a, n)?,
            Address::promised::<T>("second input", b, n)?,
            Address::promised::<<T as Read<W>>::Value>("output", output, 1)?,
        )
    };
    let engine = of::<T>(stream)?;
    let _bound = stream.bind()?;
    engine.dot::<W>(a, b, output, 0)
}

/// Returns the dot product of elements that are converted as `W` specifies, on the host.
///
/// # Errors
/// The same errors as for [`host::dot`](crate::host::dot).
#[doc(hidden)]
pub fn host_dot<T: Element + Read<W>, W>(a: &[T], b: &[T]) -> Result<<T as Read<W>>::Value> {
    host::read::<T, W>(a, b)
}
