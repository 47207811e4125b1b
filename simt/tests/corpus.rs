//! Runs kernels other than the steps, compiled by three versions of NVRTC, and checks their
//! results.
//!
//! `tests/corpus/make.py` compiles the kernels; `SIMT_CORPUS=DIR` runs another (larger) set.

#![allow(clippy::precedence)] // Products are shifted as in the PTX manual.

use std::path::{Path, PathBuf};

use crate::common::{Device, Element, STEPS, files, launch, path};
use simt::{Arch, Arg, Launch, Module, Schedule};

/// One file of the corpus: `kernel.type.compiler.architecture.ptx`.
struct Text {
    name: String,
    element: Element,
    /// Compute capability, times 10.
    arch: u32,
    module: Module,
}

fn corpus(kernel: &str) -> Vec<Text> {
    let folder =
        std::env::var_os("SIMT_CORPUS").map_or_else(|| path("tests/corpus/ptx"), PathBuf::from);
    let texts: Vec<Text> =
        files(&folder, "ptx").iter().filter_map(|file| read(file, kernel)).collect();
    assert!(!texts.is_empty(), "no PTX of {kernel}");
    texts
}

fn read(file: &Path, kernel: &str) -> Option<Text> {
    let name = file.file_stem()?.to_str()?.to_owned();
    let mut parts = name.split('.');
    (parts.next()? == kernel).then_some(())?;
    let element = Element::of_c(parts.next()?);
    let arch = name.rsplit('.').next()?.parse().ok()?;
    let text = std::fs::read_to_string(file).unwrap();
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
    Some(Text { name, element, arch, module })
}

/// Runs a case for each file and schedule, and checks that there are no findings.
fn each(kernel: &str, mut case: impl FnMut(&Text, &mut Device)) {
    for text in corpus(kernel) {
        for schedule in [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(3)] {
            let mut device = Device::new(schedule);
            // Each file runs on the GPU that it is compiled for.
            device.gpu.config_mut().play(Arch::that_runs(&format!("sm_{}", text.arch)).unwrap());
            case(&text, &mut device);
            assert!(device.findings().is_empty(), "{} {schedule}: {}", text.name, device.said());
        }
    }
}

fn run(text: &Text, device: &mut Device, launch: &Launch<'_>) {
    let schedule = device.gpu.config().schedule;
    device.launch(&text.module, launch).unwrap_or_else(|e| panic!("{} {schedule}: {e}", text.name));
}

fn total(values: &[i64]) -> f64 {
    values.iter().sum::<i64>() as f64
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn from_words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Adds the sums that a kernel stores in `out`: one sum for each block, or a single sum.
fn sum_of(text: &Text, device: &mut Device, launch: &Launch<'_>, out: u64, count: usize) -> f64 {
    run(text, device, launch);
    let size = text.element.size();
    device.get(out, count * size).chunks(size).map(|b| text.element.whole(b)).sum()
}

#[test]
fn the_steps_of_other_compilers() {
    for step in STEPS {
        each(step.name, |text, device| {
            let n = 5000;
            let (bytes, values) = text.element.input(n);
            let input = device.put(&bytes);
            let sum = step.sum(device, &text.module, text.element, 128, input, n).unwrap();
            assert_eq!(sum, total(&values), "{}", text.name);
        });
    }
}

#[test]
fn grid_stride() {
    each("grid_stride", |text, device| {
        for n in [0, 1, 3, 4, 127, 1027, 9001] {
            let (bytes, values) = text.element.input(n);
            let (input, out) = (device.put(&bytes), device.put(&[0; 16]));
            let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(n as u64)];
            let sum = sum_of(text, device, &launch("grid_stride", 3, 96, 0, args), out, 1);
            assert_eq!(sum, total(&values), "{} n {n}", text.name);
        }
    });
}

#[test]
fn redux() {
    each("redux", |text, device| {
        let values: Vec<u32> = (0..128u32).map(|i| i.wrapping_mul(0x9e37_79b9) | 0x10).collect();
        let (input, out) = (device.put(&from_words(&values)), device.room(4 * 8 * 4));
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(128)];
        run(text, device, &launch("redux", 2, 64, 0, args));
        let got = words(&device.get(out, 4 * 8 * 4));
        for (warp, row) in values.chunks(32).zip(got.chunks(8)) {
            let signed = warp.iter().map(|&v| v as i32);
            let expected = [
                warp.iter().fold(0, |a: u32, &b| a.wrapping_add(b)),
                *warp.iter().min().unwrap(),
                *warp.iter().max().unwrap(),
                signed.clone().min().unwrap() as u32,
                signed.max().unwrap() as u32,
                warp.iter().fold(u32::MAX, |a, b| a & b),
                warp.iter().fold(0, |a, b| a | b),
                warp.iter().fold(0, |a, b| a ^ b),
            ];
            assert_eq!(row, expected, "{}", text.name);
        }
    });
}

#[test]
fn votes() {
    each("votes", |text, device| {
        let values: Vec<u32> = (0..64).map(|i| i * 5 % 37).collect();
        let (input, out) = (device.put(&from_words(&values)), device.room(64 * 32));
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(64)];
        run(text, device, &launch("votes", 2, 32, 0, args));
        let got = words(&device.get(out, 64 * 32));
        let mask = |warp: &[u32], f: &dyn Fn(u32) -> bool| {
            warp.iter().enumerate().fold(0u32, |m, (i, &v)| m | u32::from(f(v)) << i)
        };
        for (i, row) in got.chunks(8).enumerate() {
            let (warp, lane) = (&values[i / 32 * 32..][..32], i % 32);
            let value = values[i];
            let any = warp.contains(&7);
            assert_eq!(row[0], mask(warp, &|v| v % 3 == 0), "{} ballot", text.name);
            assert_eq!(row[1], 1 + 2 * u32::from(any), "{} all and any", text.name);
            // The result of `activemask` depends on the schedule, but always includes the lane
            // itself.
            assert!((1..=32).contains(&row[2]), "{} activemask {}", text.name, row[2]);
            assert_eq!((row[3], row[4]), ((1 << lane) - 1, lane as u32), "{}", text.name);
            let half = if lane < 16 {
                mask(&warp[..16], &|v| v & 1 == 1)
            } else {
                warp[16 + (value & 15) as usize]
            };
            assert_eq!(row[5], half, "{} lane {lane}", text.name);
            if text.arch >= 70 {
                assert_eq!(row[6], mask(warp, &|v| v % 5 == value % 5), "{} match", text.name);
                assert_eq!(row[7], u32::MAX.wrapping_add(1), "{} match all", text.name);
            }
        }
    });
}

#[test]
fn last_block() {
    for kernel in ["last_block", "last_block_acq_rel"] {
        each(kernel, |text, device| {
            // The kernel is launched twice, because it must reset its counter to 0.
            for (blocks, block, n) in [(1, 64, 10), (5, 64, 3000), (7, 128, 1)] {
                let (bytes, values) = text.element.input(n);
                let (input, out) = (device.put(&bytes), device.room(16));
                let partial = device.room(blocks as usize * 8);
                let args =
                    vec![Arg::U64(input), Arg::U64(out), Arg::U64(n as u64), Arg::U64(partial)];
                let shared = block * text.element.size() as u32;
                let sum =
                    sum_of(text, device, &launch(kernel, blocks, block, shared, args), out, 1);
                assert_eq!(sum, total(&values), "{} {blocks} blocks", text.name);
            }
        });
    }
}

#[test]
fn bulk_ring() {
    each("bulk_ring", |text, device| {
        for (blocks, n) in [(1, 0), (2, 700), (2, 256 * 23 + 5), (3, 256 * 4)] {
            let (bytes, values) = text.element.input(n);
            let (input, out) = (device.put(&bytes), device.room(blocks as usize * 8));
            let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(n as u64)];
            let sum = sum_of(
                text,
                device,
                &launch("bulk_ring", blocks, 128, 0, args),
                out,
                blocks as usize,
            );
            assert_eq!(sum, total(&values), "{} n {n}", text.name);
        }
    });
}

#[test]
fn cluster() {
    each("cluster", |text, device| {
        for (blocks, size) in [(8, 4), (2, 2), (8, 8), (1, 1)] {
            let n = 3001;
            let (bytes, values) = text.element.input(n);
            let (input, out) = (device.put(&bytes), device.room(64));
            let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(n as u64)];
            let mut launch = launch("cluster", blocks, 64, 0, args);
            launch.cluster[0] = size;
            let sum = sum_of(text, device, &launch, out, (blocks / size) as usize);
            assert_eq!(sum, total(&values), "{} {blocks} blocks in clusters of {size}", text.name);
        }
    });
}

#[test]
fn wide() {
    each("wide", |text, device| {
        let values: Vec<i32> = (0..1000).map(|i: i32| i.wrapping_mul(0x3779_b97f)).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let (input, out) = (device.put(&bytes), device.put(&[0; 24]));
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(1000)];
        run(text, device, &launch("wide", 2, 96, 0, args));
        let got: Vec<u64> = device
            .get(out, 24)
            .chunks(8)
            .map(|b| u64::from_le_bytes(b.try_into().unwrap()))
            .collect();
        let sum: i64 = values.iter().map(|&v| i64::from(v)).sum();
        let bits: u64 = values.iter().map(|&v| u64::from(v as u32)).sum();
        let most =
            values.iter().map(|&v| u64::from(v as u32).wrapping_mul(0x1_0000_0001)).max().unwrap();
        assert_eq!(got, [sum as u64, bits, most], "{}", text.name);
    });
}

#[test]
fn matrices() {
    // Small integers have exact sums; the matrices are shears, whose products stay exact.
    let shear = |i: usize| {
        if i.is_multiple_of(2) {
            [1.0, (i % 3) as f32, 0.0, 1.0]
        } else {
            [1.0, 0.0, -((i % 2) as f32), 1.0]
        }
    };
    let times = |l: [f32; 4], r: [f32; 4]| {
        [
            l[0] * r[0] + l[1] * r[2],
            l[0] * r[1] + l[1] * r[3],
            l[2] * r[0] + l[3] * r[2],
            l[2] * r[1] + l[3] * r[3],
        ]
    };
    each("matrix", |text, device| {
        let n = 20;
        let values: Vec<[f32; 4]> = (0..n).map(shear).collect();
        let bytes: Vec<u8> = values.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        let input = device.put(&bytes);
        let sum = values
            .iter()
            .fold([0.0; 4], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]);
        let product = values.iter().copied().reduce(times).unwrap();
        for (entry, expected) in [("matrix_sum", sum), ("matrix_product", product)] {
            let out = device.room(16);
            let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(n as u64)];
            run(text, device, &launch(entry, 1, 32, 32 * 16, args));
            assert_eq!(floats(&device.get(out, 16)), expected, "{} {entry}", text.name);
        }
    });
}

#[test]
fn rows() {
    each("rows", |text, device| {
        for (height, width) in [(5, 300), (9, 31), (2, 1), (3, 1000)] {
            let (bytes, values) = text.element.input(height * width);
            let input = device.put(&bytes);
            let size = text.element.size();
            let sizes = [Arg::U32(height as u32), Arg::U32(width as u32)];
            let out = device.room(2 * height * size);
            let args = [vec![Arg::U64(input), Arg::U64(out)], sizes.to_vec()].concat();
            run(text, device, &launch("rows", height.div_ceil(2) as u32, 64, 0, args.clone()));
            let sums: Vec<f64> = values.chunks(width).map(total).collect();
            let got: Vec<f64> = device
                .get(out, height * size)
                .chunks(size)
                .map(|b| text.element.whole(b))
                .collect();
            assert_eq!(got, sums, "{} {height} by {width}", text.name);
            run(text, device, &launch("row_means", height as u32, 64, 0, args));
            let got: Vec<f64> = device
                .get(out, 2 * height * size)
                .chunks(size)
                .map(|b| text.element.whole(b))
                .collect();
            let expected: Vec<f64> = sums
                .iter()
                .flat_map(|&s| {
                    let mean = match text.element {
                        Element::F32 => (s as f32 / width as f32).into(),
                        Element::I32 => (s as i32 / width as i32).into(),
                        Element::F64 => s / width as f64,
                    };
                    [s, mean]
                })
                .collect();
            assert_eq!(got, expected, "{} {height} by {width}", text.name);
        }
    });
}

#[test]
fn atomics() {
    each("atomics", |text, device| {
        let values: Vec<u32> = (0..100).map(|i: u32| i * 37 % 101).collect();
        let n = values.len() as u32;
        let start: Vec<u32> = vec![0, 0, 1 << 20, u32::MAX, 0, u32::MAX, 0, 0, 0, 0, 0, 0, 77, 0];
        let (input, out) = (device.put(&from_words(&values)), device.put(&from_words(&start)));
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(n.into())];
        run(text, device, &launch("atomics", 2, 64, 0, args));
        let got = words(&device.get(out, 4 * start.len()));
        let sum: u32 = values.iter().sum();
        let expected = [
            sum,
            values.iter().fold(0, |a, b| a | b),
            (1 << 20) - sum,
            *values.iter().min().unwrap(),
            *values.iter().max().unwrap(),
            values.iter().fold(u32::MAX, |a, b| a & b),
            values.iter().fold(0, |a, b| a ^ b),
            n % 101,
            // There are 100 decrements from 0; the first wraps to 100.
            (101 * 2 - n) % 101,
            (n as f32 * 0.5).to_bits(),
            *values.iter().max().unwrap(),
            77,
            values[5],
            0,
        ];
        assert_eq!(got, expected, "{}", text.name);
    });
}

#[test]
fn numbers() {
    each("numbers", |text, device| {
        let mut values: Vec<i32> =
            (0..60).map(|i: i32| i.wrapping_mul(0x3c6e_f372) ^ (i << 3)).collect();
        values.extend([0, 1, -1, i32::MAX]);
        let n = values.len();
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let (input, out) = (device.put(&bytes), device.room(n * 64));
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(n as u64)];
        run(text, device, &launch("numbers", 2, 32, 0, args));
        let got = words(&device.get(out, n * 64));
        for (i, row) in got.chunks(16).enumerate() {
            let (a, b) = (values[i], values[(i + 1) % n] | 1);
            let expected = numbers_of(a, b);
            assert_eq!(row, expected, "{} a {a} b {b}", text.name);
        }
    });
}

/// Computes in Rust what `numbers.cu` computes.
fn numbers_of(a: i32, b: i32) -> [u32; 16] {
    let (ua, ub) = (a as u32, b as u32);
    let wide = i64::from(a) * i64::from(b);
    let quotient = f64::from(a) / f64::from(b);
    let ffs = if a == 0 { 0 } else { ua.trailing_zeros() + 1 };
    let pick = |selector: u32| {
        let both = u64::from(ub) << 32 | u64::from(ua);
        (0..4).fold(0, |out, i| {
            out | ((both >> (8 * (selector >> (4 * i) & 7)) & 255) as u32) << (8 * i)
        })
    };
    let mut local = [0u32; 8];
    for k in 0..8u32 {
        local[(k.wrapping_mul(3).wrapping_add(ua) & 7) as usize] = k.wrapping_mul(ub);
    }
    let lesser = if (b as f32) < (a as f32) { b as f32 } else { a as f32 };
    [
        ua.count_ones() + 100 * ua.leading_zeros() + 10000 * ffs,
        ua.reverse_bits(),
        (ua / ub).wrapping_add(ua % ub),
        if b == -1 { 0 } else { (a / b).wrapping_sub(a % b) as u32 },
        ((wide >> 32) as u32) ^ ((u64::from(ua) * u64::from(ub) >> 32) as u32),
        ((a >> (ub & 31)) as u32).wrapping_add(ua >> (ub & 31)).wrapping_add(ua << (ub & 31)),
        (ub << 7 | ua >> 25) ^ pick(0x5140),
        (a.max(b) as u32).wrapping_sub(ua.min(ub)).wrapping_add(a.unsigned_abs()),
        u32::from(a as u8)
            .wrapping_add(i32::from((a >> 8) as i8) as u32)
            .wrapping_add(i32::from(a as i16) as u32)
            .wrapping_add(u32::from((a >> 3) as u16)),
        (a as f32).mul_add(1.5, ub as f32).to_bits(),
        ((a as f32 / 3.0) as i32 as u32)
            .wrapping_add((f64::from(b) * 0.5).round_ties_even() as i64 as u32),
        (a as f32).abs().sqrt().to_bits() ^ lesser.to_bits(),
        (quotient.to_bits() >> 32) as u32 ^ quotient.to_bits() as u32,
        (wide >> 32) as u32 ^ wide as u32 ^ (wide / 7) as u32,
        [3, 5, 7, 11][(ua & 3) as usize] * 2,
        local[(ub & 7) as usize],
    ]
}

#[test]
fn halves() {
    each("halves", |text, device| {
        // Small integers are exact in both formats.
        let values: Vec<i64> = (0..514).map(|i| i % 13 - 4).collect();
        let half = |v: i64| -> u16 {
            let bits = (v as f32).to_bits();
            if v == 0 {
                0
            } else {
                ((bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 | bits >> 13 & 0x3ff)
                    as u16
            }
        };
        let brain = |v: i64| ((v as f32).to_bits() >> 16) as u16;
        let sixteen = |f: &dyn Fn(i64) -> u16| -> Vec<u8> {
            values.iter().flat_map(|&v| f(v).to_le_bytes()).collect()
        };
        for (entry, bytes) in [("sum_f16", sixteen(&half)), ("sum_bf16", sixteen(&brain))] {
            let (input, out) = (device.put(&bytes), device.room(8));
            let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(514)];
            run(text, device, &launch(entry, 2, 64, 0, args));
            let sum: f32 = floats(&device.get(out, 8)).iter().sum();
            assert_eq!(f64::from(sum), total(&values), "{} {entry}", text.name);
        }
        let bytes: Vec<u8> = values.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect();
        let (input, out) = (device.put(&bytes), device.room(1028));
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(514)];
        run(text, device, &launch("to_f16", 9, 64, 0, args));
        let got: Vec<u16> = device
            .get(out, 1028)
            .chunks(2)
            .map(|b| u16::from_le_bytes(b.try_into().unwrap()))
            .collect();
        assert_eq!(got, values.iter().map(|&v| half(v + 1)).collect::<Vec<_>>(), "{}", text.name);
    });
}

#[test]
fn cooperative_groups() {
    each("groups", |text, device| {
        let n = 500;
        let (bytes, values) = text.element.input(n);
        let (input, out) = (device.put(&bytes), device.room(32));
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(n as u64)];
        let sum = sum_of(text, device, &launch("groups", 4, 128, 256, args), out, 4);
        assert_eq!(sum, total(&values), "{}", text.name);
    });
}

#[test]
fn tiles_of_several_warps() {
    each("tiles", |text, device| {
        for (blocks, n) in [(1, 1), (2, 500), (3, 3 * 256)] {
            let (bytes, values) = text.element.input(n);
            let (input, out) = (device.put(&bytes), device.room(64));
            let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(n as u64)];
            let shared = 256 * text.element.size() as u32;
            let launch = launch("tiles", blocks, 256, shared, args);
            let sum = sum_of(text, device, &launch, out, 2 * blocks as usize);
            assert_eq!(sum, total(&values), "{} n {n}", text.name);
        }
    });
}
