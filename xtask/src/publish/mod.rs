//! Builds what is published: the crate `samebits`, its C library and its Python module; and programs that
//! use it beside other crates.

pub(crate) mod beside;
pub(crate) mod capi;
pub(crate) mod package;
pub(crate) mod python;
