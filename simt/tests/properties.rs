//! Compares arithmetic with plain Rust for random operands, and tests invalid PTX.

#![allow(clippy::precedence)] // Products are shifted as in the PTX manual.

use crate::common::{Device, ELEMENTS, Element, STEPS, launch};
use proptest::prelude::*;
use simt::{Arg, Module, Schedule};

/// Returns a kernel that applies an instruction to three operands per thread.
fn kernel(ty: &str, result: &str, instruction: &str) -> Module {
    let (size, out) = (width(ty), width(result));
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .visible .entry test(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b{b} %a, %b, %c;\n.reg .b{r} %d;\n.reg .b64 %in, %out, %i;\n.reg .b32 %t;\n.reg .pred %p;\n\
         ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\n\
         mul.wide.u32 %i, %t, {row};\nadd.s64 %in, %in, %i;\nmul.wide.u32 %i, %t, {out};\nadd.s64 %out, %out, %i;\n\
         ld.global.b{b} %a, [%in];\nld.global.b{b} %b, [%in+{size}];\nld.global.b{b} %c, [%in+{twice}];\n\
         {instruction}\nst.global.b{r} [%out], %d;\nret;\n}}\n",
        b = size * 8,
        r = out * 8,
        row = 3 * size,
        twice = 2 * size,
    );
    Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn width(ty: &str) -> usize {
    ty[1..].parse::<usize>().unwrap() / 8
}

/// Returns the bits of the results for rows of three operands.
fn run(module: &Module, ty: &str, result: &str, rows: &[[u64; 3]]) -> Vec<u64> {
    let (size, out) = (width(ty), width(result));
    let bytes: Vec<u8> =
        rows.iter().flatten().flat_map(|v| v.to_le_bytes()[..size].to_vec()).collect();
    let mut device = Device::new(Schedule::Converged);
    let (from, to) = (device.put(&bytes), device.room(rows.len() * out));
    let args = vec![Arg::U64(from), Arg::U64(to)];
    device.launch(module, &launch("test", 1, rows.len() as u32, 0, args)).unwrap();
    assert!(device.findings().is_empty(), "{}", device.said());
    let got = device.get(to, rows.len() * out);
    got.chunks(out).map(|c| c.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b))).collect()
}

/// Generates operands, many of them edge cases.
fn operand(bits: u32) -> impl Strategy<Value = u64> {
    let mask = u64::MAX >> (64 - bits);
    let floats = prop::sample::select(vec![
        0x0000_0000u64,
        0x8000_0000,
        0x3f80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0001,
        0x0000_0001,
        0x0080_0000,
        0x7f7f_ffff,
        0x4b80_0000,
        0x7ff0_0000_0000_0000,
        0x8000_0000_0000_0000,
        0x3ff0_0000_0000_0000,
        1,
        2,
        31,
        32,
        33,
        0x7fff_ffff,
        0xffff_ffff,
        u64::MAX,
        0x7fff_ffff_ffff_ffff,
    ]);
    prop_oneof![any::<u64>(), floats, 0u64..70].prop_map(move |v| v & mask)
}

fn rows(bits: u32) -> impl Strategy<Value = Vec<[u64; 3]>> {
    prop::collection::vec([operand(bits), operand(bits), operand(bits)], 32..=96)
}

/// Maps all NaNs to one bit pattern.
fn f32_bits(x: f32) -> u64 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits().into() }
}

fn f64_bits(x: f64) -> u64 {
    // PTX does not define the payload of a double NaN: any NaN is correct.
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

fn ftz(x: f32) -> f32 {
    if x.is_subnormal() { 0.0f32.copysign(x) } else { x }
}

macro_rules! check {
    ($rows:expr, $ty:literal -> $result:literal, $($text:literal => $f:expr;)+) => {
        $(holds(&$rows, $ty, $result, $text, &$f)?;)+
    };
}

/// Compares an instruction with a function. The function is behind a pointer, so that this code is
/// compiled once and not for each instruction.
fn holds(
    rows: &[[u64; 3]],
    ty: &str,
    result: &str,
    text: &str,
    f: &dyn Fn(u64, u64, u64) -> Option<u64>,
) -> Result<(), TestCaseError> {
    let module = kernel(ty, result, text);
    for (row, got) in rows.iter().zip(run(&module, ty, result, rows)) {
        if let Some(expected) = f(row[0], row[1], row[2]) {
            prop_assert_eq!(got, expected, "{} of {:x?}: {:x} for {:x}", text, row, got, expected);
        }
    }
    Ok(())
}

/// Adapts a function of unsigned 32-bit operands; the functions below adapt signed and float
/// operands.
fn w(f: impl Fn(u32, u32, u32) -> u32) -> impl Fn(u64, u64, u64) -> Option<u64> {
    move |a, b, c| Some(f(a as u32, b as u32, c as u32).into())
}

fn s(f: impl Fn(i32, i32, i32) -> i32) -> impl Fn(u64, u64, u64) -> Option<u64> {
    move |a, b, c| Some((f(a as i32, b as i32, c as i32) as u32).into())
}

fn f(f: impl Fn(f32, f32, f32) -> f32) -> impl Fn(u64, u64, u64) -> Option<u64> {
    move |a, b, c| {
        Some(f32_bits(f(
            f32::from_bits(a as u32),
            f32::from_bits(b as u32),
            f32::from_bits(c as u32),
        )))
    }
}

fn d(f: impl Fn(f64, f64, f64) -> f64) -> impl Fn(u64, u64, u64) -> Option<u64> {
    move |a, b, c| {
        let x = f(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
        (!x.is_nan()).then(|| f64_bits(x))
    }
}

fn l(f: impl Fn(u64, u64, u64) -> u64) -> impl Fn(u64, u64, u64) -> Option<u64> {
    move |a, b, c| Some(f(a, b, c))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words(rows in rows(32)) {
        check!(rows, "b32" -> "b32",
            "add.u32 %d, %a, %b;" => w(|a, b, _| a.wrapping_add(b));
            "sub.u32 %d, %a, %b;" => w(|a, b, _| a.wrapping_sub(b));
            "mul.lo.u32 %d, %a, %b;" => w(|a, b, _| a.wrapping_mul(b));
            "mul.hi.u32 %d, %a, %b;" => w(|a, b, _| (u64::from(a) * u64::from(b) >> 32) as u32);
            "mul.hi.s32 %d, %a, %b;" => s(|a, b, _| (i64::from(a) * i64::from(b) >> 32) as i32);
            "mad.lo.s32 %d, %a, %b, %c;" => s(|a, b, c| a.wrapping_mul(b).wrapping_add(c));
            "shl.b32 %d, %a, %b;" => w(|a, b, _| a.checked_shl(b).unwrap_or(0));
            "shr.u32 %d, %a, %b;" => w(|a, b, _| a.checked_shr(b).unwrap_or(0));
            "shr.s32 %d, %a, %b;" => s(|a, b, _| a >> (b as u32).min(31));
            "and.b32 %d, %a, %b;" => w(|a, b, _| a & b);
            "or.b32 %d, %a, %b;" => w(|a, b, _| a | b);
            "xor.b32 %d, %a, %b;" => w(|a, b, _| a ^ b);
            "not.b32 %d, %a;" => w(|a, _, _| !a);
            "min.s32 %d, %a, %b;" => s(|a, b, _| a.min(b));
            "max.u32 %d, %a, %b;" => w(|a, b, _| a.max(b));
            "abs.s32 %d, %a;" => s(|a, _, _| a.wrapping_abs());
            "neg.s32 %d, %a;" => s(|a, _, _| a.wrapping_neg());
            "popc.b32 %d, %a;" => w(|a, _, _| a.count_ones());
            "clz.b32 %d, %a;" => w(|a, _, _| a.leading_zeros());
            "brev.b32 %d, %a;" => w(|a, _, _| a.reverse_bits());
            "bfind.u32 %d, %a;" => w(|a, _, _| if a == 0 { u32::MAX } else { 31 - a.leading_zeros() });
            "shf.l.wrap.b32 %d, %a, %b, %c;" => w(|a, b, c| ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32);
            "shf.r.wrap.b32 %d, %a, %b, %c;" => w(|a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32);
            "bfe.u32 %d, %a, %b, %c;" => w(|a, b, c| {
                let (pos, len) = (b & 255, c & 255);
                let field = u64::from(a).checked_shr(pos).unwrap_or(0);
                (if len >= 32 { field } else { field & ((1 << len) - 1) }) as u32
            });
            "bfi.b32 %d, %a, 7, %b, 5;" => w(|a, b, _| {
                // The field has five bits; the second operand is its position.
                let (pos, len) = (b & 255, 5);
                let mask = (((1u64 << len) - 1) << pos.min(63)) as u32;
                let put = (u64::from(a) << pos.min(63)) as u32;
                if pos >= 32 { 7 } else { 7 & !mask | put & mask }
            });
            "setp.lt.s32 %p, %a, %b;\nselp.b32 %d, 1, 0, %p;" => s(|a, b, _| (a < b).into());
            "setp.hs.u32 %p, %a, %b;\nselp.b32 %d, 1, 0, %p;" => w(|a, b, _| (a >= b).into());
            "cvt.rn.f32.s32 %d, %a;" => |a, _, _| Some(f32_bits(a as i32 as f32));
            "cvt.rn.f32.u32 %d, %a;" => |a, _, _| Some(f32_bits(a as u32 as f32));
            "cvt.s32.s8 %d, %a;" => s(|a, _, _| i32::from(a as i8));
            "cvt.u32.u16 %d, %a;" => w(|a, _, _| a & 0xffff);
        );
    }

    #[test]
    fn quotients(rows in rows(32)) {
        let rows: Vec<[u64; 3]> = rows.into_iter().map(|[a, b, c]| [a, b.max(1), c]).collect();
        check!(rows, "b32" -> "b32",
            "div.u32 %d, %a, %b;" => w(|a, b, _| a / b);
            "rem.u32 %d, %a, %b;" => w(|a, b, _| a % b);
            "div.s32 %d, %a, %b;" => s(|a, b, _| a.wrapping_div(b));
            "rem.s32 %d, %a, %b;" => s(|a, b, _| a.wrapping_rem(b));
        );
    }

    #[test]
    fn long_words(rows in rows(64)) {
        check!(rows, "b64" -> "b64",
            "add.s64 %d, %a, %b;" => l(|a, b, _| a.wrapping_add(b));
            "sub.s64 %d, %a, %b;" => l(|a, b, _| a.wrapping_sub(b));
            "mul.lo.s64 %d, %a, %b;" => l(|a, b, _| a.wrapping_mul(b));
            "mul.hi.u64 %d, %a, %b;" => l(|a, b, _| (u128::from(a) * u128::from(b) >> 64) as u64);
            "mul.hi.s64 %d, %a, %b;" => l(|a, b, _| (i128::from(a as i64) * i128::from(b as i64) >> 64) as u64);
            "mad.lo.s64 %d, %a, %b, %c;" => l(|a, b, c| a.wrapping_mul(b).wrapping_add(c));
            "and.b64 %d, %a, %b;" => l(|a, b, _| a & b);
            "xor.b64 %d, %a, %b;" => l(|a, b, _| a ^ b);
            "min.s64 %d, %a, %b;" => l(|a, b, _| (a as i64).min(b as i64) as u64);
            "max.u64 %d, %a, %b;" => l(|a, b, _| a.max(b));
            "brev.b64 %d, %a;" => l(|a, _, _| a.reverse_bits());
            "cvt.rn.f64.s64 %d, %a;" => l(|a, _, _| (a as i64 as f64).to_bits());
            "cvt.rn.f64.u64 %d, %a;" => l(|a, _, _| (a as f64).to_bits());
            "setp.gt.s64 %p, %a, %b;\nselp.b64 %d, 1, 0, %p;" => l(|a, b, _| (a as i64 > b as i64).into());
        );
        check!(rows, "b64" -> "b32",
            "popc.b64 %d, %a;" => l(|a, _, _| a.count_ones().into());
            "clz.b64 %d, %a;" => l(|a, _, _| a.leading_zeros().into());
            "cvt.u32.u64 %d, %a;" => l(|a, _, _| a & 0xffff_ffff);
            "cvt.rn.f32.s64 %d, %a;" => l(|a, _, _| f32_bits(a as i64 as f32));
        );
    }

    #[test]
    fn floats(rows in rows(32)) {
        check!(rows, "b32" -> "b32",
            "add.f32 %d, %a, %b;" => f(|a, b, _| a + b);
            "sub.f32 %d, %a, %b;" => f(|a, b, _| a - b);
            "mul.f32 %d, %a, %b;" => f(|a, b, _| a * b);
            "fma.rn.f32 %d, %a, %b, %c;" => f(|a, b, c| a.mul_add(b, c));
            "div.rn.f32 %d, %a, %b;" => f(|a, b, _| a / b);
            "sqrt.rn.f32 %d, %a;" => f(|a, _, _| a.sqrt());
            "rcp.rn.f32 %d, %a;" => f(|a, _, _| 1.0 / a);
            "add.ftz.f32 %d, %a, %b;" => f(|a, b, _| ftz(ftz(a) + ftz(b)));
            "mul.rn.ftz.f32 %d, %a, %b;" => |a, b, _| {
                // This test does not cover whether a product that rounds up to the smallest normal
                // number is flushed.
                let x = ftz(f32::from_bits(a as u32)) * ftz(f32::from_bits(b as u32));
                (x.abs() != f32::MIN_POSITIVE).then(|| f32_bits(ftz(x)))
            };
            "setp.lt.f32 %p, %a, %b;\nselp.b32 %d, 1, 0, %p;" => |a, b, _| Some((f32::from_bits(a as u32) < f32::from_bits(b as u32)).into());
            "setp.geu.f32 %p, %a, %b;\nselp.b32 %d, 1, 0, %p;" => |a, b, _| {
                let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                Some((a >= b || a.is_nan() || b.is_nan()).into())
            };
            "cvt.rzi.s32.f32 %d, %a;" => |a, _, _| Some((f32::from_bits(a as u32) as i32 as u32).into());
            "cvt.rzi.u32.f32 %d, %a;" => |a, _, _| Some((f32::from_bits(a as u32) as u32).into());
            "max.f32 %d, %a, %b;" => |a, b, _| {
                let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                // On ARM, the maximum of a signalling NaN and a number is a NaN, unlike in PTX.
                let max = if a.is_nan() { b } else if b.is_nan() { a } else { a.max(b) };
                (a != b).then(|| f32_bits(max))
            };
        );
    }

    #[test]
    fn doubles(rows in rows(64)) {
        check!(rows, "b64" -> "b64",
            "add.f64 %d, %a, %b;" => d(|a, b, _| a + b);
            "sub.f64 %d, %a, %b;" => d(|a, b, _| a - b);
            "mul.f64 %d, %a, %b;" => d(|a, b, _| a * b);
            "fma.rn.f64 %d, %a, %b, %c;" => d(|a, b, c| a.mul_add(b, c));
            "div.rn.f64 %d, %a, %b;" => d(|a, b, _| a / b);
            "sqrt.rn.f64 %d, %a;" => d(|a, _, _| a.sqrt());
        );
        check!(rows, "b64" -> "b32",
            "cvt.rn.f32.f64 %d, %a;" => |a, _, _| Some(f32_bits(f64::from_bits(a) as f32));
            "cvt.rzi.s32.f64 %d, %a;" => |a, _, _| {
                // According to the manual, NaN becomes 0 if the source has single precision; with
                // the double-precision source here, it becomes the smallest integer.
                let x = f64::from_bits(a);
                Some(if x.is_nan() { 0x8000_0000 } else { (x as i32 as u32).into() })
            };
        );
    }

    #[test]
    fn shuffles(values in prop::collection::vec(any::<u32>(), 32), by in 0u32..40, mode in 0usize..4) {
        let (name, clamp) = [("down", 31), ("up", 0), ("bfly", 31), ("idx", 31)][mode];
        let module = kernel("b32", "b32", &format!("mov.u32 %b, {by};\nshfl.sync.{name}.b32 %d, %a, %b, {clamp}, -1;"));
        let rows: Vec<[u64; 3]> = values.iter().map(|&v| [v.into(), 0, 0]).collect();
        let got = run(&module, "b32", "b32", &rows);
        let by = by as usize % 32;
        for lane in 0..32usize {
            let from = match name {
                "down" => Some(lane + by).filter(|&l| l < 32),
                "up" => lane.checked_sub(by),
                "bfly" => Some(lane ^ by),
                _ => Some(by),
            };
            prop_assert_eq!(got[lane], u64::from(values[from.unwrap_or(lane)]));
        }
    }

    /// Tests any step with any number of elements.
    #[test]
    fn sums(step in 0usize..7, element in 0usize..3, log in 6u32..=10, n in 0usize..3000, seed in any::<u64>()) {
        let (step, element, block) = (STEPS[step], ELEMENTS[element], 1 << log);
        let module = Module::parse(&step.ptx(element)).unwrap();
        let mut device = Device::new(Schedule::Adversarial(seed));
        let (bytes, values) = element.input(n);
        let input = device.put(&bytes);
        let sum = step.sum(&mut device, &module, element, block, input, n).unwrap();
        prop_assert_eq!(sum, values.iter().sum::<i64>() as f64);
        prop_assert!(device.findings().is_empty(), "{}", device.said());
    }

    /// Garbled PTX gives a module or an error; loading it never panics.
    #[test]
    fn garbled_texts_are_errors(step in 0usize..7, cut in any::<prop::sample::Index>(), noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6)) {
        let ptx = STEPS[step].ptx(Element::F32);
        let mut bytes = ptx.into_bytes();
        let at = cut.index(bytes.len());
        if noise.is_empty() {
            bytes.truncate(at);
        }
        for (index, byte) in noise {
            let at = index.index(bytes.len());
            bytes[at] = byte % 0x80;
        }
        let _ = Module::parse(&String::from_utf8_lossy(&bytes));
    }
}

/// Each prefix of PTX that ends at a line break gives an error with a position, or a shorter
/// module.
#[test]
fn truncated_texts_are_errors() {
    for step in [STEPS[0], STEPS[6]] {
        let ptx = step.ptx(Element::F32);
        let lines: Vec<&str> = ptx.lines().collect();
        for n in 0..lines.len() {
            let text = lines[..n].join("\n");
            if let Err(e) = Module::parse(&text) {
                assert!(e.line as usize <= n + 1 && e.column > 0 && !e.message.is_empty(), "{e}");
            }
        }
    }
}
