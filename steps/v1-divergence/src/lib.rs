//! v1-divergence
