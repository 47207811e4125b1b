//! v5-template-unroll
