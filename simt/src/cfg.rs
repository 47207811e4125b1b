//! Computes reconvergence points. Lanes that diverge at a branch reconverge at the branch's
//! immediate post-dominator.

use crate::inst::{Inst, NOWHERE, Op};

/// Sets [`Inst::join`] of each guarded branch.
pub(crate) fn set_joins(insts: &mut [Inst]) {
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
    // Block 0 is the exit; the others are numbered in the order of the code.
    let mut first = vec![NOWHERE];
    let mut block = vec![0; n];
    for pc in 0..n {
        if leader[pc] {
            first.push(pc as u32);
        }
        block[pc] = first.len() - 1;
    }
    let mut next = vec![Vec::new(); first.len()];
    for pc in (0..n).filter(|&pc| pc + 1 == n || leader[pc + 1]) {
        let inst = &insts[pc];
        let after = block.get(pc + 1).copied().unwrap_or(EXIT);
        next[block[pc]].push(match inst.op {
            Op::Branch(target) => block[target as usize],
            Op::Exit => EXIT,
            _ => after,
        });
        if inst.guard.is_some() && matches!(inst.op, Op::Branch(_) | Op::Exit) {
            next[block[pc]].push(after);
        }
    }
    let join = post_dominators(&next);
    for pc in 0..n {
        if insts[pc].guard.is_some() && matches!(insts[pc].op, Op::Branch(_)) {
            insts[pc].join = join[block[pc]].map_or(NOWHERE, |block| first[block]);
        }
    }
}

/// The block in which a kernel ends.
const EXIT: usize = 0;

/// Returns the immediate post-dominator of each block, given its successors; `None` for the exit,
/// and for blocks from which the exit cannot be reached.
///
/// The function applies the algorithm from Cooper, Harvey and Kennedy, *A Simple, Fast Dominance
/// Algorithm*, 2001, to the reversed graph.
fn post_dominators(next: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut before = vec![Vec::new(); next.len()];
    for (from, to) in
        next.iter().enumerate().flat_map(|(b, next)| next.iter().map(move |&t| (b, t)))
    {
        before[to].push(from);
    }
    // The blocks, in the postorder of a depth-first traversal along reversed edges, and the
    // position of each block in this order.
    let (mut order, mut place) = (Vec::new(), vec![None; next.len()]);
    let mut seen = vec![false; next.len()];
    let mut stack = vec![(EXIT, 0)];
    seen[EXIT] = true;
    while let Some((block, at)) = stack.pop() {
        match before[block].get(at) {
            Some(&from) => {
                stack.push((block, at + 1));
                if !std::mem::replace(&mut seen[from], true) {
                    stack.push((from, 0));
                }
            }
            None => {
                place[block] = Some(order.len());
                order.push(block);
            }
        }
    }
    let mut joins: Vec<Option<usize>> = vec![None; next.len()];
    joins[EXIT] = Some(EXIT);
    let meet = |joins: &[Option<usize>], mut a: usize, mut b: usize| {
        // The paths from both blocks lead to the exit, which is the last block in the postorder.
        while a != b {
            let behind = if place[a] < place[b] { &mut a } else { &mut b };
            *behind = joins[*behind].unwrap_or(EXIT);
        }
        a
    };
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev().skip(1) {
            let known = next[block].iter().copied().filter(|&to| joins[to].is_some());
            let join = known.reduce(|a, b| meet(&joins, a, b));
            changed |= joins[block] != join;
            joins[block] = join;
        }
    }
    joins[EXIT] = None;
    joins
}

fn mark(leader: &mut [bool], pc: usize) {
    if let Some(slot) = leader.get_mut(pc) {
        *slot = true;
    }
}
