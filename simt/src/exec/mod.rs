//! The execution engine, which runs teams of blocks and their warps, one instruction at a time.

mod access;
mod atomic;
mod barrier;
mod bulk;
mod carry;
mod changes;
mod collect;
mod copies;
mod env;
mod grid;
mod host;
mod issue;
mod late;
mod locate;
mod mbarrier;
mod mbarriers;
mod misses;
mod parts;
mod pending;
mod rng;
mod schedule;
mod special;
mod stale;
mod stuck;
mod team;
mod unset;
mod warp;

pub(crate) use env::Env;
pub(crate) use grid::run;
pub(crate) use mbarriers::IF_MEANT;
