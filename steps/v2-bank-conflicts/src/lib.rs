//! v2-bank-conflicts
