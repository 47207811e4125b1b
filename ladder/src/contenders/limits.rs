//! What no sum can be faster than: an empty kernel, a kernel that only reads, and the driver's copy.

use common::{
    Element, Kernel, Result,
    device::{Cuda, Device, Memory, Program, cuda},
    plan::{Call, Number},
    ptx,
};

/// The name of the floor.
pub(super) const FLOOR: &str = "empty-kernel";
/// The name of the reading ceiling.
pub(super) const READ: &str = "read-only";
/// The name of the copying ceiling.
pub(super) const COPY: &str = "copy";

/// The kernels of the floor and of the reading ceiling, loaded.
#[derive(Debug)]
pub struct Limits(Program);

impl Limits {
    /// Loads them.
    pub fn load(device: &Device, kernel: &Kernel) -> Result<Limits> {
        device.load(&ptx::of(kernel, Element::F32, None)?).map(Limits)
    }
}

/// A limit with its buffers.
#[derive(Debug)]
pub(super) enum Prepared<'d> {
    Empty { program: &'d Program },
    Read { program: &'d Program, out: Memory, vectors: u64, blocks: u32 },
    Copy { cuda: &'d Cuda, to: cuda::Memory, bytes: u64 },
}

impl<'d> Prepared<'d> {
    pub(super) fn empty(limits: &'d Limits) -> Prepared<'d> {
        Prepared::Empty { program: &limits.0 }
    }

    pub(super) fn read(device: &Device, limits: &'d Limits, bytes: u64) -> Result<Prepared<'d>> {
        let out = device.alloc("what was read", 4)?;
        let vectors = bytes / 16;
        // As much as fits at once, and no more than there is to do.
        let blocks =
            vectors.div_ceil(4 * 512).clamp(1, u64::from(4 * device.facts().chip.sms)) as u32;
        Ok(Prepared::Read { program: &limits.0, out, vectors, blocks })
    }

    pub(super) fn copy(cuda: &'d Cuda, bytes: u64) -> Result<Prepared<'d>> {
        let to = cuda.alloc("a copy of the input", bytes)?;
        Ok(Prepared::Copy { cuda, to, bytes })
    }

    /// Everything that a launch needs but the launch.
    pub(super) fn calls(&self, input: u64) -> Vec<Call> {
        let call = |entry: &str, grid, block, args| {
            vec![Call {
                entry: entry.into(),
                grid,
                block,
                cluster: 1,
                shared: 0,
                early: false,
                args,
            }]
        };
        match self {
            Prepared::Empty { .. } => call("empty", 1, 32, vec![]),
            Prepared::Read { out, vectors, blocks, .. } => {
                let args = [input, out.address(), *vectors].map(Number::U64);
                call("read", *blocks, 512, args.to_vec())
            }
            Prepared::Copy { .. } => Vec::new(),
        }
    }

    pub(super) fn launch(&self, device: &Device, calls: &[Call], input: u64) -> Result<()> {
        match self {
            Prepared::Empty { program } | Prepared::Read { program, .. } => {
                calls.iter().try_for_each(|call| device.launch(program, call))
            }
            Prepared::Copy { cuda, to, bytes } => cuda.copy(input, to, *bytes),
        }
    }
}
