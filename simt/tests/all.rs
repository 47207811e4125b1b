//! All tests of the interpreter except those of its program. These tests are in one binary, because
//! each further binary would compile the interpreter again for its own observers.

mod common;

mod checked_steps;
mod clusters;
mod copied;
mod copies;
mod corpus;
mod cures;
mod differential;
mod earlier;
mod exits;
mod faults;
mod fences;
mod flags;
mod guesses;
mod instructions;
mod late;
mod lifetimes;
mod limits;
mod messages;
mod mutations;
mod observed;
mod order;
mod orders;
mod pairs;
mod parse;
mod progress;
mod properties;
mod refused;
mod remedies;
mod sent;
mod stale;
mod state;
mod steps;
mod trace;
mod unset;
mod warp_barriers;
mod written;
