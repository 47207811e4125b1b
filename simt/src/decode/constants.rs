//! Immediates of hot instructions, spread over planes once and not at each use.

use crate::inst::{Fast, Op, Src};
use crate::kernel::Kernel;

/// Turns the immediates of fast loops and comparisons into constant planes.
pub(super) fn spread(kernel: &mut Kernel) {
    let mut insts = std::mem::take(&mut kernel.insts);
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
                    src.iter_mut().for_each(|s| kernel.double(s));
                }
                Fast::Shl64 => {
                    kernel.double(&mut src[0]);
                    kernel.word(&mut src[1]);
                }
                _ => src.iter_mut().for_each(|s| kernel.word(s)),
            },
            Op::Setp { ty, a, b, .. } if !ty.is_float() => match ty.bits() {
                32 => [a, b].into_iter().for_each(|s| kernel.word(s)),
                64 => [a, b].into_iter().for_each(|s| kernel.double(s)),
                _ => {}
            },
            _ => {}
        }
    }
    kernel.insts = insts;
}

impl Kernel {
    fn word(&mut self, src: &mut Src) {
        let Src::Imm(v) = *src else { return };
        let plane = [v as u32; 32];
        let found = self.words.iter().position(|w| *w == plane);
        let at = found.unwrap_or_else(|| {
            self.words.push(plane);
            self.words.len() - 1
        });
        if let Ok(at) = u16::try_from(at) {
            *src = Src::ConstW(at);
        }
    }

    fn double(&mut self, src: &mut Src) {
        let Src::Imm(v) = *src else { return };
        let plane = [v; 32];
        let found = self.doubles.iter().position(|d| *d == plane);
        let at = found.unwrap_or_else(|| {
            self.doubles.push(plane);
            self.doubles.len() - 1
        });
        if let Ok(at) = u16::try_from(at) {
            *src = Src::ConstD(at);
        }
    }
}
