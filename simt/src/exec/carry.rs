//! Evaluates arithmetic that produces or consumes a carry.

use super::team::Team;
use super::warp::each;
use crate::alu::{lop3, sext, trim};
use crate::inst::{Carry, CarryOp, Half};

impl Team<'_> {
    pub(super) fn carry(&mut self, w: usize, active: u32, carry: &Carry) {
        let mut left = 0;
        each(active, |lane| {
            let [a, b, c] = carry.src.map(|src| self.lane(w, lane, src));
            let flag = carry.takes.map(|flag| self.lane(w, lane, flag) & 1);
            let bits = carry.ty.bits();
            let (value, over) = part(carry, [a, b, c].map(|v| trim(v, bits)), flag);
            left |= u32::from(over) << lane;
            self.warps[w].regs.put(carry.dst, lane, trim(value, bits));
        });
        self.warps[w].regs.put_pred(carry.leaves, active, left);
    }
}

/// Returns the result and its carry. As on GPUs, the carry of a difference is the inverted borrow.
/// Therefore `subc` subtracts one more if `add.cc` produced no carry.
fn part(carry: &Carry, [a, b, c]: [u64; 3], flag: Option<u64>) -> (u64, bool) {
    let bits = carry.ty.bits();
    let sum = |x: u64, y: u64| {
        let sum = u128::from(x) + u128::from(y) + u128::from(flag.unwrap_or(0));
        (sum as u64, sum >> bits != 0)
    };
    match carry.op {
        CarryOp::Add => sum(a, b),
        CarryOp::Sub => {
            let borrow = flag.map_or(0, |flag| 1 - flag);
            let borrows = u128::from(a) < u128::from(b) + u128::from(borrow);
            (a.wrapping_sub(b).wrapping_sub(borrow), !borrows)
        }
        CarryOp::Lop3(table, join) => {
            let value = lop3(table, a, b, c);
            let any = u32::from(trim(value, bits) != 0);
            (value, join.of(any, flag.unwrap_or(0) as u32) == 1)
        }
        CarryOp::Mad(half) => {
            let product = if carry.ty.is_signed() {
                (i128::from(sext(a, bits)) * i128::from(sext(b, bits))) as u128
            } else {
                u128::from(a) * u128::from(b)
            };
            let product = if half == Half::Hi { product >> bits } else { product };
            sum(trim(product as u64, bits), c)
        }
    }
}
