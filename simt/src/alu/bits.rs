//! Operations on bits and bit fields.

use crate::inst::Ty;

/// Returns the low `bits` bits of a value; the other bits are 0.
#[inline(always)]
pub(crate) fn trim(v: u64, bits: u32) -> u64 {
    if bits >= 64 { v } else { v & ((1 << bits) - 1) }
}

/// Sign-extends the low `bits` bits of a value.
#[inline(always)]
pub(crate) fn sext(v: u64, bits: u32) -> i64 {
    if bits >= 64 { v as i64 } else { (v << (64 - bits)) as i64 >> (64 - bits) }
}

/// Returns field `i` of a value that consists of fields of `bits` bits. Field 0 is in the lowest
/// bits.
pub(super) fn field(v: u64, i: u32, bits: u32, signed: bool) -> i128 {
    let v = trim(v >> (bits * i), bits);
    if signed { i128::from(sext(v, bits)) } else { i128::from(v) }
}

/// Returns the position and length of a bit field. Only the low 8 bits of each operand are used;
/// for 64-bit types, the low 32 bits are used.
fn span(pos: u64, len: u64, bits: u32) -> (u32, u32) {
    if bits == 64 { (pos as u32, len as u32) } else { (pos as u32 & 0xff, len as u32 & 0xff) }
}

/// Inserts a bit field: the `len` low bits of `a` replace those of `b`, starting at bit `pos`.
pub(super) fn bfi(a: u64, b: u64, pos: u64, len: u64, bits: u32) -> u64 {
    let (pos, len) = span(pos, len, bits);
    if len == 0 || pos >= bits {
        return trim(b, bits);
    }
    let mask = trim(trim(u64::MAX, len.min(64)) << pos, bits);
    trim(b, bits) & !mask | a << pos & mask
}

pub(super) fn bfe(a: u64, pos: u64, len: u64, ty: Ty) -> u64 {
    let bits = ty.bits();
    let (pos, len) = span(pos, len, bits);
    let a = trim(a, bits);
    if len == 0 {
        return 0;
    }
    let last = pos.saturating_add(len - 1).min(bits - 1);
    let sign = if ty.is_signed() { a >> last & 1 } else { 0 };
    let field = if pos >= bits { 0 } else { trim(a >> pos, len.min(64)) };
    let valid = bits.saturating_sub(pos).min(len);
    if sign == 1 { field | !trim(u64::MAX, valid) } else { field }
}

/// Applies the truth table of `lop3` to the three bits at each position.
pub(crate) fn lop3(table: u8, a: u64, b: u64, c: u64) -> u64 {
    let mut out = 0;
    for row in 0..8u64 {
        if table >> row & 1 == 1 {
            let pick = |v: u64, bit: u64| if row >> bit & 1 == 1 { v } else { !v };
            out |= pick(a, 2) & pick(b, 1) & pick(c, 0);
        }
    }
    out
}

/// Extends the low `bits` bits of `a` to 32 bits.
pub(super) fn szext(a: u32, bits: u32, signed: bool, clamp: bool) -> u32 {
    if clamp && bits >= 32 {
        return a;
    }
    let above = u32::MAX << (bits & 31);
    let negative = signed && bits & 31 != 0 && a >> ((bits & 31) - 1) & 1 == 1;
    if negative { a | above } else { a & !above }
}

/// Returns a mask of `width` ones that starts at bit `at`.
pub(super) fn bmsk(at: u32, width: u32, clamp: bool) -> u32 {
    if clamp && at >= 32 {
        return 0;
    }
    let from = u32::MAX << (at & 31);
    let end = (at & 31) + (width & 31);
    let beyond = end >= 32 || (clamp && width >= 32);
    from & !if beyond { 0 } else { u32::MAX << end }
}

pub(super) fn bfind(shift: bool, x: i128, bits: u32) -> u32 {
    let x = if x < 0 { !x } else { x } as u64;
    if x == 0 {
        return u32::MAX;
    }
    let at = 63 - x.leading_zeros();
    if shift { bits - 1 - at } else { at }
}

/// Returns the position of the n-th set bit, counting from bit `base`: upwards if n > 0, downwards
/// if n < 0. If there is no such bit, or if `base` exceeds 31, the result is `u32::MAX`.
pub(super) fn fns(mask: u32, base: u32, n: i32) -> u32 {
    if n == i32::MIN {
        return 0; // An H200 returns 0.
    }
    if base > 31 {
        return u32::MAX;
    }
    if n == 0 {
        return if mask >> base & 1 == 1 { base } else { u32::MAX };
    }
    let mut left = n.unsigned_abs();
    let mut at = base as i32;
    while (0..32).contains(&at) {
        if mask >> at & 1 == 1 {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += n.signum();
    }
    u32::MAX
}

pub(super) fn funnel(a: u64, b: u64, c: u64, wrap: bool, left: bool) -> u64 {
    let both = trim(b, 32) << 32 | trim(a, 32);
    let by = if wrap { c as u32 & 31 } else { (c as u32).min(32) };
    trim(if left { both.wrapping_shl(by) >> 32 } else { both >> by }, 32)
}

pub(super) fn prmt(mode: u8, a: u32, b: u32, c: u32) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    let byte = |i: u32| (both >> (8 * (i & 7))) as u8;
    let c3 = c & 3;
    let picks: [u32; 4] = match mode {
        1 => [c3, c3 + 1, c3 + 2, c3 + 3],
        2 => [c3, c3.wrapping_sub(1) & 7, c3.wrapping_sub(2) & 7, c3.wrapping_sub(3) & 7],
        3 => [c3; 4],
        4 => [0, 1, 2, 3].map(|i: u32| i.max(c3)),
        5 => [0, 1, 2, 3].map(|i: u32| i.min(c3)),
        6 => [0, 1, 0, 1].map(|i: u32| i + 2 * (c & 1)),
        _ => {
            let pick = |i: u32| {
                let selector = c >> (4 * i) & 15;
                let v = byte(selector);
                if selector & 8 != 0 { (v as i8 >> 7) as u8 } else { v }
            };
            return u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)]);
        }
    };
    u32::from_le_bytes(picks.map(byte))
}
