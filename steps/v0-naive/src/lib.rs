//! v0-naive
