//! The state of a scheduler in a cycle.

/// The state of a scheduler in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// The scheduler issues an instruction.
    Issue,
    /// The scheduler's warps wait for the result of an arithmetic instruction, or for a unit.
    Math,
    /// The scheduler's warps wait for shared memory or a shuffle.
    Shared,
    /// The scheduler's warps wait at a barrier.
    Barrier,
    /// The scheduler's warps wait for memory, and the bus is not busy.
    Latency,
    /// The scheduler's warps wait for memory, and the bus is busy.
    Dram,
    /// The scheduler's warps wait for an atomic or a fence.
    Atomic,
    /// The scheduler's warps wait for an instruction fetch, because of an instruction-cache miss.
    Code,
    /// The scheduler has no warps, because blocks are starting or have ended.
    Idle,
}

impl Spent {
    /// All states, in the order of their discriminants.
    pub const ALL: [(Spent, &'static str); 9] = [
        (Spent::Issue, "issue"),
        (Spent::Math, "arithmetic"),
        (Spent::Shared, "shared memory"),
        (Spent::Barrier, "barriers"),
        (Spent::Latency, "latency of memory"),
        (Spent::Dram, "bandwidth of memory"),
        (Spent::Atomic, "atomics and fences"),
        (Spent::Code, "fetching code"),
        (Spent::Idle, "starts and ends of blocks"),
    ];
}
