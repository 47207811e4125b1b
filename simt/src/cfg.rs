//! Where lanes that part at a branch meet again: its immediate post-dominator.

use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::inst::{Inst, NOWHERE, Op};

/// Fills in [`Inst::join`] of each branch under a guard.
pub(crate) fn set_joins(insts: &mut [Inst]) {
    // Nodes are basic blocks; the graph is reversed and has one virtual exit.
    let n = insts.len();
    let mut leader = vec![false; n];
    for (pc, inst) in insts.iter().enumerate() {
        match inst.op {
            Op::Branch(target) => {
                leader[target as usize] = true;
                mark(&mut leader, pc + 1);
            }
            Op::Exit => mark(&mut leader, pc + 1),
            _ => {}
        }
    }
    mark(&mut leader, 0);
    let mut graph = DiGraph::<u32, ()>::new();
    let exit = graph.add_node(NOWHERE);
    let mut block = vec![exit; n];
    for pc in 0..n {
        block[pc] = if leader[pc] { graph.add_node(pc as u32) } else { block[pc - 1] };
    }
    let last = |pc: usize| pc + 1 == n || leader[pc + 1];
    for pc in (0..n).filter(|pc| last(*pc)) {
        let inst = &insts[pc];
        let next = |pc: usize| block.get(pc).copied().unwrap_or(exit);
        match inst.op {
            Op::Branch(target) => {
                graph.add_edge(block[target as usize], block[pc], ());
            }
            Op::Exit => {
                graph.add_edge(exit, block[pc], ());
            }
            _ => {
                graph.add_edge(next(pc + 1), block[pc], ());
            }
        }
        let falls = inst.guard.is_some() && matches!(inst.op, Op::Branch(_) | Op::Exit);
        if falls {
            graph.add_edge(next(pc + 1), block[pc], ());
        }
    }
    let dominators = simple_fast(&graph, exit);
    for pc in 0..n {
        if insts[pc].guard.is_some() && matches!(insts[pc].op, Op::Branch(_)) {
            let join: Option<NodeIndex> = dominators.immediate_dominator(block[pc]);
            insts[pc].join = join.map_or(NOWHERE, |node| graph[node]);
        }
    }
}

fn mark(leader: &mut [bool], pc: usize) {
    if let Some(slot) = leader.get_mut(pc) {
        *slot = true;
    }
}
