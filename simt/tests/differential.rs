//! Compares the interpreter's instructions with a GPU's: runs each line of `differential.tsv` on
//! 4096 inputs, and compares a hash of the results.
//!
//! `approximate.tsv` holds the results of instructions whose last bits PTX does not specify. The
//! interpreter's result may differ from the GPU's by at most a tolerance: the relative error times
//! the GPU's result, or the absolute error, whichever is larger. The table gives both errors as
//! powers of two.
//!
//! `differential.py` writes both tables on a GPU. A line with the result `-` has not been run on a
//! GPU. If `SIMT_DIFFERENTIAL` names the folder of results that the script keeps, the test lists
//! the differences.

use std::collections::HashMap;
use std::{env, fs};

use crate::common::{Device, launch, text};
use simt::{Arg, Module, Schedule};

const MANY: u64 = 4096;

const INTS: [u64; 28] = [
    0,
    1,
    2,
    3,
    7,
    8,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x10000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];
const F16: [u64; 13] =
    [0, 0x8000, 1, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x3800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7fff];
const BF16: [u64; 13] =
    [0, 0x8000, 1, 0x7f, 0x80, 0x3f80, 0xbf80, 0x3f00, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fff];
const F32: [u64; 17] = [
    0,
    0x8000_0000,
    1,
    0x7f_ffff,
    0x80_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fff_ffff,
    0x4f00_0000,
    0x5f00_0000,
    0x3fc0_0000,
    0x4020_0000,
];
const F64: [u64; 17] = [
    0,
    1 << 63,
    1,
    (1 << 52) - 1,
    1 << 52,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x41e0_0000_0000_0000,
    0x43e0_0000_0000_0000,
    0x3ff8_0000_0000_0000,
    0xffff_ffff,
];

fn bits(ty: &str) -> u32 {
    match ty {
        "len" | "f16x2" | "bf16x2" => 32,
        _ => ty.trim_start_matches(|c: char| c.is_alphabetic()).parse().unwrap(),
    }
}

/// Hashes a number with SplitMix64.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Returns the k-th operand of input i: an edge case, a number near an edge case, an integer with
/// leading zeros, or random bits.
fn operand(ty: &str, i: u64, k: u64) -> u64 {
    if let Some(half) = ty.strip_suffix("x2") {
        return operand(half, i, k) | operand(half, i + MANY, k) << 16;
    }
    let (kind, value) = (mix(8 * i + 2 * k), mix(8 * i + 2 * k + 1));
    let (edges, float): (&[u64], bool) = match ty {
        "f16" => (&F16, true),
        "bf16" => (&BF16, true),
        "f32" => (&F32, true),
        "f64" => (&F64, true),
        _ => (&INTS, false),
    };
    let edge = edges[(kind >> 8) as usize % edges.len()];
    let low = u64::MAX >> (64 - bits(ty));
    match kind % 4 {
        _ if ty == "len" => value % 300,
        0 => edge & low,
        1 => edge.wrapping_add(value % 7).wrapping_sub(3) & low,
        2 if !float => (value >> (value % 64)) & low,
        _ => value & low,
    }
}

/// Replaces every NaN with the same NaN, because payloads are not compared.
fn without_payload(ty: &str, v: u64) -> u64 {
    if let Some(half) = ty.strip_suffix("x2") {
        let of = |v: u64| without_payload(half, v & 0xffff) & 0xffff;
        return of(v) | of(v >> 16) << 16;
    }
    let infinity = match ty {
        "f16" => 0x7c00,
        "bf16" => 0x7f80,
        "f32" => 0x7f80_0000,
        "f64" => 0x7ff0_0000_0000_0000,
        _ => return v,
    };
    let magnitude = v & (u64::MAX >> (65 - bits(ty)));
    if magnitude > infinity { u64::MAX } else { v }
}

fn ptx(result: &str, operands: &[&str], body: &str) -> String {
    let of = |ty: &str| format!("b{}", bits(ty));
    let names = ["%a", "%b", "%c", "%f"];
    let registers: String = operands
        .iter()
        .zip(names)
        .map(|(ty, name)| format!(".reg .{} {name};\n", of(ty)))
        .collect();
    let loads: String = operands
        .iter()
        .zip(names)
        .enumerate()
        .map(|(k, (ty, name))| format!("ld.global.{} {name}, [%n2+{}];\n", of(ty), 8 * k))
        .collect();
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .visible .entry test(.param .u64 in, .param .u64 out)\n{{\n.reg .pred %p;\n.reg .b32 %i<4>;\n\
         .reg .b64 %n<4>;\n.reg .{} %d, %e;\n{registers}\
         ld.param.u64 %n0, [in];\nld.param.u64 %n1, [out];\nmov.u32 %i0, %ctaid.x;\n\
         mov.u32 %i1, %tid.x;\nmad.lo.u32 %i0, %i0, 256, %i1;\nmad.wide.u32 %n2, %i0, 32, %n0;\n\
         mad.wide.u32 %n3, %i0, 8, %n1;\n{loads}{body}\nst.global.{} [%n3], %d;\nret;\n}}\n",
        of(result),
        of(result)
    )
}

/// Returns the interpreter's results for a line.
fn results(given: &[u8], result: &str, operands: &[&str], body: &str) -> Result<Vec<u64>, String> {
    let module = Module::parse(&ptx(result, operands, body)).map_err(|e| e.to_string())?;
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(given);
    let out = device.put(&[0; 8 * MANY as usize]);
    let launch = launch("test", MANY as u32 / 256, 256, 0, vec![Arg::U64(input), Arg::U64(out)]);
    device.gpu.launch_watched(&module, &launch, None).map_err(|e| e.to_string())?;
    let bytes = device.get(out, 8 * MANY as usize);
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    Ok(words.map(|v| without_payload(result, v)).collect())
}

/// Returns the operands of all inputs, as the kernels read them.
fn inputs(operands: &[&str]) -> Vec<u8> {
    let of = |i, k| operands.get(k as usize).map_or(0, |ty| operand(ty, i, k));
    (0..MANY).flat_map(|i| (0..4).map(move |k| of(i, k))).flat_map(u64::to_le_bytes).collect()
}

fn fnv(values: &[u64]) -> u64 {
    values
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns the first inputs for which the results of a line differ from a GPU's.
fn differing(line: usize, operands: &[&str], ours: &[u64]) -> String {
    let Ok(folder) = env::var("SIMT_DIFFERENTIAL") else { return String::new() };
    let Ok(bytes) = fs::read(format!("{folder}/{line}.bin")) else { return String::new() };
    let theirs = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let pairs: Vec<(u64, u64, u64)> = (0..MANY)
        .zip(ours.iter().zip(theirs))
        .filter(|(_, (a, b))| **a != *b)
        .map(|(i, (a, b))| (i, *a, b))
        .collect();
    let shown = pairs.iter().take(6).map(|(i, a, b)| {
        let of: Vec<String> = operands
            .iter()
            .enumerate()
            .map(|(k, ty)| format!("{:#x}", operand(ty, *i, k as u64)))
            .collect();
        format!("\n    {}: {a:#x}, on the GPU {b:#x}", of.join(" "))
    });
    format!(": {} of {MANY}{}", pairs.len(), shown.collect::<String>())
}

#[test]
fn results_are_those_of_a_gpu() {
    let (mut wrong, mut known) = (Vec::new(), 0);
    let mut given = HashMap::new();
    for (at, row) in text("tests/differential.tsv").lines().enumerate() {
        let [result, operands, body, hash] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("line {}: not four columns: {row}", at + 1);
        };
        if row.starts_with('#') || hash == "-" {
            continue;
        }
        known += 1;
        let operands: Vec<&str> = operands.split(',').collect();
        let given = given.entry(operands.clone()).or_insert_with(|| inputs(&operands));
        match results(given, result, &operands, body) {
            Ok(ours) if format!("{:016x}", fnv(&ours)) == hash => {}
            Ok(ours) => wrong.push(format!("{body}{}", differing(at + 1, &operands, &ours))),
            Err(error) => wrong.push(format!("{body}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {known} lines:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns the value of a floating-point result, and of each half of a packed one.
fn floats(ty: &str, v: u64) -> Vec<f64> {
    let half = |v: u64, exponent: u32| {
        let mantissa = 15 - exponent;
        let (sign, low) = (if v & 0x8000 == 0 { 1.0 } else { -1.0 }, v & ((1 << mantissa) - 1));
        let bias = (1 << (exponent - 1)) - 1;
        let scaled =
            |m: u64, e: i32| sign * m as f64 * f64::from(e - bias - mantissa as i32).exp2();
        match v >> mantissa & ((1 << exponent) - 1) {
            0 => scaled(low, 1),
            e if e == (1 << exponent) - 1 => {
                if low == 0 {
                    sign * f64::INFINITY
                } else {
                    f64::NAN
                }
            }
            e => scaled(low | 1 << mantissa, e as i32),
        }
    };
    match ty {
        "f64" => vec![f64::from_bits(v)],
        "f32" => vec![f32::from_bits(v as u32).into()],
        "f16" => vec![half(v, 5)],
        "bf16" => vec![half(v, 8)],
        "f16x2" => vec![half(v & 0xffff, 5), half(v >> 16 & 0xffff, 5)],
        _ => vec![half(v & 0xffff, 8), half(v >> 16 & 0xffff, 8)],
    }
}

#[test]
fn approximate_results_are_close_to_a_gpu() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for row in text("tests/approximate.tsv").lines().filter(|row| !row.starts_with('#')) {
        let [result, operands, body, errors, theirs] = row.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("not five columns: {row}");
        };
        let (relative, absolute) = errors.split_once(',').unwrap();
        let power = |e: &str| e.parse::<f64>().unwrap().exp2();
        let (relative, absolute) = (power(relative), power(absolute));
        let operands: Vec<&str> = operands.split(',').collect();
        let ours = results(&inputs(&operands), result, &operands, body).unwrap();
        for (i, (ours, theirs)) in ours.iter().zip(theirs.split(',')).enumerate() {
            let theirs = u64::from_str_radix(theirs, 16).unwrap();
            compared += 1;
            let pairs = floats(result, *ours).into_iter().zip(floats(result, theirs));
            for (a, b) in pairs.filter(|(a, b)| !(a.is_nan() && b.is_nan()) && a != b) {
                let off = (a - b).abs();
                if !(off.is_finite() && off <= (relative * b.abs()).max(absolute)) {
                    let given: Vec<String> = (0..operands.len())
                        .map(|k| format!("{:#x}", operand(operands[k], i as u64, k as u64)))
                        .collect();
                    wrong.push(format!("{body} {}: {a:e}, on the GPU {b:e}", given.join(" ")));
                }
            }
        }
    }
    assert!(compared >= 30 * 128, "only {compared} results");
    assert!(wrong.is_empty(), "{} results:\n{}", wrong.len(), wrong.join("\n"));
}
