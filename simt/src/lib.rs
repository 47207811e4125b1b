//! Runs PTX on the CPU, warp by warp, and counts instructions and memory accesses.
//!
//! `simt` is a small, exact interpreter for the PTX that NVRTC emits for reductions. The
//! interpreter runs the PTX that a GPU would run, and counts the same events as the GPU's counters.
//! Observers receive an event for each access, barrier and warp-wide exchange. If the interpreter
//! cannot run an instruction, loading the PTX fails with an error; the interpreter never guesses.
//!
//! ```
//! let text = r#"
//! .version 8.4
//! .target sm_60
//! .address_size 64
//! .visible .entry twice(.param .u64 data)
//! {
//!     .reg .b32 %r<3>;
//!     .reg .b64 %rd<4>;
//!     ld.param.u64 %rd1, [data];
//!     cvta.to.global.u64 %rd2, %rd1;
//!     mov.u32 %r1, %tid.x;
//!     mul.wide.u32 %rd3, %r1, 4;
//!     add.s64 %rd2, %rd2, %rd3;
//!     ld.global.u32 %r2, [%rd2];
//!     shl.b32 %r2, %r2, 1;
//!     st.global.u32 [%rd2], %r2;
//!     ret;
//! }"#;
//! let module = simt::Module::parse(text)?;
//!
//! let mut gpu = simt::Gpu::new();
//! let data = gpu.alloc(4 * 64)?;
//! let numbers: Vec<u8> = (0..64u32).flat_map(u32::to_le_bytes).collect();
//! gpu.write(data, &numbers)?;
//!
//! let launch = simt::Launch {
//!     entry: "twice",
//!     grid: [1, 1, 1],
//!     block: [64, 1, 1],
//!     cluster: [1, 1, 1],
//!     shared: 0,
//!     args: vec![simt::Arg::U64(data)],
//! };
//! let mut counters = simt::Counters::default();
//! gpu.launch(&module, &launch, &mut counters)?;
//!
//! let mut last = [0; 4];
//! gpu.read(data + 4 * 63, &mut last)?;
//! assert_eq!(u32::from_le_bytes(last), 126);
//! // Two warps execute one load of four sectors each.
//! assert_eq!(counters.total.global_ld_requests, 2);
//! assert_eq!(counters.total.global_ld_sectors, 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map
//!
//! The modules are `parse` (PTX to syntax tree), `decode` (tree to instructions, with calls
//! inlined), `cfg` (reconvergence points), `alu` (arithmetic), `exec` (warps, barriers, schedules
//! and blocks), `global` (memory), `check` (whether a launch fits the simulated GPU: [`Arch`]),
//! [`observer`] (the events), [`observe`] and [`Counters`] (the observers), and `place` (addresses
//! in the notation of the source). All modules use `model`, which defines the terms of the memory
//! model.
#![forbid(unsafe_code)]

mod alu;
mod arch;
mod cfg;
mod check;
mod counters;
mod decode;
mod error;
mod exec;
mod flags;
mod flow;
mod global;
mod gpu;
mod guesses;
mod inst;
mod kernel;
mod launch;
mod model;
mod module;
pub mod observe;
pub mod observer;
pub mod parallel;
mod parse;
mod place;
mod printf;
mod progress;
mod source;
mod symbol;
mod tails;
mod tickets;
mod watch;

pub use arch::Arch;
pub use counters::{Counters, Counts, LaunchCounts};
pub use error::{Error, ParseError, Trap, TrapKind};
pub use gpu::Gpu;
pub use kernel::{Kernel, Narrow};
pub use launch::{Arg, Config, Launch, Schedule};
pub use module::Module;
pub use observer::Observer;
pub use progress::Progress;
pub use source::parameters;
pub use watch::{Watch, cause, checks, counted, counting, findings, widening};
