//! Builds everything that is published: the crate `samebits`, its C library and its Python module.
//! Also builds programs that use the crate together with other crates.

pub(crate) mod beside;
pub(crate) mod capi;
pub(crate) mod package;
pub(crate) mod python;
