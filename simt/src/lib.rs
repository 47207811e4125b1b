//! Runs PTX on the CPU, warp by warp, and counts.
#![forbid(unsafe_code)]
