//! Lists the registers that an instruction reads and writes.

use super::{Dst, MbarOp, Op, Src, Sync};

/// The way in which an instruction uses a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The result is computed from the value.
    Value,
    /// The result is a copy of the value, or of a part of it.
    Copy,
    /// The value is stored.
    Stored,
    /// The value is used in another way; the text completes the sentence "uses a variable ... as".
    Use(&'static str),
}

const ADDRESS: Role = Role::Use("an address");
const ATOMIC: Role = Role::Use("an operand of an atomic");
const BARRIER: Role = Role::Use("an operand of a barrier");
const COPY: Role = Role::Use("an operand of an asynchronous copy");

impl Op {
    /// Calls `read` for each source operand, and `write` for each destination register.
    pub(crate) fn registers(&self, read: &mut dyn FnMut(Src, Role), write: &mut dyn FnMut(Dst)) {
        match self {
            Op::Alu { alu, dst, src, .. } => {
                for (i, src) in src.iter().enumerate() {
                    read(*src, if alu.f.copies(i) { Role::Copy } else { Role::Value });
                }
                write(*dst);
            }
            Op::Setp { join, p, q, a, b, .. } => {
                [Some(*a), Some(*b), join.map(|(_, c)| c)]
                    .into_iter()
                    .flatten()
                    .for_each(|src| read(src, Role::Value));
                [*p, *q].into_iter().for_each(write);
            }
            Op::Pred { dst, a, b, .. } => {
                [*a, *b].into_iter().for_each(|src| read(src, Role::Value));
                write(*dst);
            }
            Op::Special { dst, .. } | Op::ActiveMask(dst) => write(*dst),
            Op::Pack { dst, parts, .. } => {
                parts.iter().for_each(|src| read(*src, Role::Copy));
                write(*dst);
            }
            Op::Unpack { dsts, src, .. } => {
                read(*src, Role::Copy);
                dsts.iter().copied().for_each(write);
            }
            Op::Load { memory, dsts } => {
                read(memory.addr.base, ADDRESS);
                dsts.iter().copied().for_each(write);
            }
            Op::Store { memory, srcs } => {
                read(memory.addr.base, ADDRESS);
                srcs.iter().for_each(|src| read(*src, Role::Stored));
            }
            Op::Atomic(atom) => {
                read(atom.memory.addr.base, ADDRESS);
                [atom.b, atom.c].into_iter().for_each(|src| read(src, ATOMIC));
                write(atom.dst);
            }
            Op::Bar(bar) => {
                read(bar.id, BARRIER);
                bar.count.into_iter().for_each(|src| read(src, BARRIER));
                if let Some((_, dst, src)) = bar.red {
                    read(src, BARRIER);
                    write(dst);
                }
            }
            Op::Sync { op, members } => {
                read(*members, Role::Use("a member mask"));
                sync(op, read, write);
            }
            Op::Ballot { dst, a } => {
                read(*a, Role::Use("the predicate of a vote"));
                write(*dst);
            }
            Op::Carry(carry) => {
                carry.src.into_iter().chain(carry.takes).for_each(|src| read(src, Role::Value));
                [carry.dst, carry.leaves].into_iter().for_each(write);
            }
            Op::Mbar(mbar) | Op::CopyArrive { mbar, .. } => {
                read(mbar.addr.base, ADDRESS);
                match &mbar.op {
                    MbarOp::Init { count: src }
                    | MbarOp::Expect { bytes: src }
                    | MbarOp::Complete { bytes: src } => read(*src, BARRIER),
                    MbarOp::Arrive { dst, count, expect, .. } => {
                        [Some(*count), *expect]
                            .into_iter()
                            .flatten()
                            .for_each(|s| read(s, BARRIER));
                        write(*dst);
                    }
                    MbarOp::Test { dst, state, .. } | MbarOp::Pending { dst, state } => {
                        read(*state, BARRIER);
                        write(*dst);
                    }
                    MbarOp::Invalidate => {}
                }
            }
            Op::Async(copy) => {
                [copy.target.base, copy.source.base]
                    .into_iter()
                    .chain(copy.mbarrier.map(|(_, address)| address.base))
                    .for_each(|src| read(src, ADDRESS));
                [Some(copy.bytes), copy.value, copy.read, copy.multicast]
                    .into_iter()
                    .flatten()
                    .for_each(|src| read(src, COPY));
            }
            Op::Mapa { dst, addr, rank, .. } => {
                [*addr, *rank].into_iter().for_each(|src| read(src, Role::Value));
                write(*dst);
            }
            Op::GetRank { dst, addr, .. } | Op::IsSpace { dst, addr, .. } => {
                read(*addr, Role::Value);
                write(*dst);
            }
            Op::Cvta { dst, src, .. } => {
                read(*src, Role::Value);
                write(*dst);
            }
            Op::Host(_)
            | Op::Branch(_)
            | Op::Exit
            | Op::Trap
            | Op::ClusterArrive { .. }
            | Op::ClusterWait
            | Op::Fence(..)
            | Op::InitFence
            | Op::CopyGroup(_)
            | Op::ProxyFence
            | Op::LaunchDependents
            | Op::LaunchWait
            | Op::Nop => {}
        }
    }
}

fn sync(op: &Sync, read: &mut dyn FnMut(Src, Role), write: &mut dyn FnMut(Dst)) {
    match *op {
        Sync::Barrier => {}
        Sync::Shuffle { dst, p, a, b, c, .. } => {
            // An uninitialized value in one lane does not affect lanes that read from another lane.
            read(a, Role::Value);
            [b, c].into_iter().for_each(|src| read(src, Role::Use("the source lane of a shuffle")));
            [dst, p].into_iter().for_each(write);
        }
        Sync::VoteAll { dst, a }
        | Sync::VoteAny { dst, a }
        | Sync::VoteUni { dst, a }
        | Sync::Ballot { dst, a } => {
            read(a, Role::Use("the predicate of a vote"));
            write(dst);
        }
        Sync::MatchAny { dst, a } | Sync::Redux { dst, a, .. } => {
            read(a, Role::Use("an operand of a warp-wide operation"));
            write(dst);
        }
        Sync::MatchAll { dst, p, a } => {
            read(a, Role::Use("an operand of a warp-wide operation"));
            [dst, p].into_iter().for_each(write);
        }
        Sync::Elect { dst, p } => [dst, p].into_iter().for_each(write),
    }
}
