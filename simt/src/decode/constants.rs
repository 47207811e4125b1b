//! Expands the immediates of frequent instructions to planes of 32 lanes once, instead of at each
//! use.

use rustc_hash::FxHashMap;

use crate::inst::{Fast, Op, Src};
use crate::kernel::Kernel;

/// Turns the immediates of fast loops and comparisons into constant planes.
pub(super) fn spread(kernel: &mut Kernel) {
    let mut insts = std::mem::take(&mut kernel.insts);
    let mut found = Found::default();
    for inst in &mut insts {
        match &mut inst.op {
            Op::Alu { fast, src, .. } => match fast {
                Fast::No => {}
                Fast::Mov64
                | Fast::Add64
                | Fast::Sub64
                | Fast::AddF64
                | Fast::MulF64
                | Fast::FmaF64
                | Fast::Trunc64 => {
                    src.iter_mut().for_each(|s| kernel.double(&mut found, s));
                }
                Fast::Shl64 => {
                    kernel.double(&mut found, &mut src[0]);
                    kernel.word(&mut found, &mut src[1]);
                }
                _ => src.iter_mut().for_each(|s| kernel.word(&mut found, s)),
            },
            Op::Setp { ty, a, b, .. } if !ty.is_float() => match ty.bits() {
                32 => [a, b].into_iter().for_each(|s| kernel.word(&mut found, s)),
                64 => [a, b].into_iter().for_each(|s| kernel.double(&mut found, s)),
                _ => {}
            },
            _ => {}
        }
    }
    kernel.insts = insts;
}

/// The index of each constant in the planes of words, and in the planes of double words.
#[derive(Default)]
struct Found {
    words: FxHashMap<u32, usize>,
    doubles: FxHashMap<u64, usize>,
}

impl Kernel {
    fn word(&mut self, found: &mut Found, src: &mut Src) {
        let Src::Imm(v) = *src else { return };
        let at = *found.words.entry(v as u32).or_insert_with(|| {
            self.words.push([v as u32; 32]);
            self.words.len() - 1
        });
        if let Ok(at) = u16::try_from(at) {
            *src = Src::ConstW(at);
        }
    }

    fn double(&mut self, found: &mut Found, src: &mut Src) {
        let Src::Imm(v) = *src else { return };
        let at = *found.doubles.entry(v).or_insert_with(|| {
            self.doubles.push([v; 32]);
            self.doubles.len() - 1
        });
        if let Ok(at) = u16::try_from(at) {
            *src = Src::ConstD(at);
        }
    }
}
