//! v3-first-add
