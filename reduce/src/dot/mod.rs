//! Dot products. The products of corresponding elements are rounded, and then added in the same
//! order as the elements of a sum.
//!
//! ```
//! use samebits::host;
//! assert_eq!(host::dot(&[1.0f32, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap(), 32.0);
//! ```

mod device;
pub(crate) mod host;
pub(crate) mod raw;

#[doc(hidden)]
pub use device::kernel_of;
pub use device::{dot, dot_into, dot_wide};

use crate::{
    Element, Error, Result,
    element::{Itself, Read},
};

/// Fails for integers narrower than 32 bits, because there are no kernels for their products.
pub(crate) fn check<T: Element>() -> Result<()> {
    let types = <T as Read<Itself>>::TYPES;
    if types.texts.products[0].is_empty() {
        return Err(Error::NoProducts { elements: types.name });
    }
    Ok(())
}
