//! v4-unroll-warp
