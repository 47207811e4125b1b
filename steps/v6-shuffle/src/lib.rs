//! v6-shuffle
