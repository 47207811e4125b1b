//! The limits on any sum: an empty kernel, a kernel that only reads, and the driver's copy.

use common::{
    Element, Kernel, Result,
    device::{Address, Cuda, Device, Memory, Program, cuda},
    plan::{Call, Value},
    ptx,
};

/// The name of the empty kernel, whose time is a lower bound.
pub(super) const FLOOR: &str = "empty-kernel";
/// The name of the kernel that only reads, whose bandwidth is an upper bound.
pub(super) const READ: &str = "read-only";
/// The name of the driver's copy, whose bandwidth is an upper bound for copies.
pub(super) const COPY: &str = "copy";

/// The largest input size, in bytes, at which every block has exactly one chunk.
const DRAWN: u64 = 5 << 28;
/// The number of vectors in each chunk that blocks claim if an input is above that size; such a
/// chunk has 512 KiB.
const PART: u64 = 1 << 15;

/// The loaded kernels that measure the minimum time and the maximum read bandwidth.
#[derive(Debug)]
pub struct Limits(Program);

impl Limits {
    /// Loads the kernels.
    pub fn load(device: &Device, kernel: &Kernel) -> Result<Limits> {
        device.load(&ptx::of(kernel, Element::F32, None)?).map(Limits)
    }
}

/// A limit with its buffers.
#[derive(Debug)]
pub(super) enum Prepared<'d> {
    Empty { program: &'d Program },
    Read { program: &'d Program, out: Memory, words: u64, part: u32, parts: u32, blocks: u32 },
    Copy { cuda: &'d Cuda, to: cuda::Memory },
}

impl<'d> Prepared<'d> {
    pub(super) fn empty(limits: &'d Limits) -> Prepared<'d> {
        Prepared::Empty { program: &limits.0 }
    }

    pub(super) fn read(device: &Device, limits: &'d Limits, bytes: u64) -> Result<Prepared<'d>> {
        let out = device.alloc("the result of the read-only kernel", 8)?;
        // The output also holds the counter from which blocks claim chunks. A launch leaves the
        // counter unchanged.
        device.write(&out, 0, &[0; 8])?;
        let words = bytes / 16;
        // The grid has as many blocks as can be resident together. Up to the size limit, each block
        // has one chunk.
        let fit = 2 * device.facts().chip.sms;
        let most = if bytes > DRAWN { PART } else { u64::MAX };
        let part = words.div_ceil(u64::from(fit)).next_multiple_of(32).max(4 * 512).min(most);
        let parts = words.div_ceil(part).max(1) as u32;
        let blocks = parts.min(fit);
        Ok(Prepared::Read { program: &limits.0, out, words, part: part as u32, parts, blocks })
    }

    pub(super) fn copy(cuda: &'d Cuda, bytes: u64) -> Result<Prepared<'d>> {
        let to = cuda.alloc("a copy of the input", bytes)?;
        Ok(Prepared::Copy { cuda, to })
    }

    /// Prepares the calls of a run, with everything that they need.
    pub(super) fn calls<'c>(&'c self, input: Address<'c>) -> Result<Vec<Call<'c>>> {
        let call = |entry: &str, grid, block, args| {
            vec![Call { entry: entry.into(), grid, block, cluster: 1, args, ..Call::default() }]
        };
        Ok(match self {
            Prepared::Empty { .. } => call("empty", 1, 32, vec![]),
            Prepared::Read { out, words, part, parts, blocks, .. } => {
                let args = vec![
                    Value::Address(input.first(words * 16)?),
                    Value::Address(out.address()),
                    Value::U64(*words),
                    Value::U32(*part),
                    Value::U32(*parts),
                ];
                call("read", *blocks, 512, args)
            }
            Prepared::Copy { .. } => Vec::new(),
        })
    }

    pub(super) fn launch(
        &self,
        device: &Device,
        calls: &[Call<'_>],
        input: Address<'_>,
    ) -> Result<()> {
        match self {
            Prepared::Empty { program } | Prepared::Read { program, .. } => {
                calls.iter().try_for_each(|call| device.launch(program, call))
            }
            Prepared::Copy { cuda, to } => {
                cuda.copy(input.first(to.address().bytes())?, to.address())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use common::{
        device::{Choice, Settings},
        sum::{Input, Workload},
    };

    use super::*;
    use crate::LIMITS;

    #[test]
    fn every_vector_is_in_a_chunk_and_chunks_are_bounded() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let limits = Limits::load(&device, &LIMITS).unwrap();
        let fit = 2 * device.facts().chip.sms;
        for bytes in [0, 16, 4096, 1 << 20, 1 << 24, DRAWN, DRAWN + 16, 4 * DRAWN] {
            let read = Prepared::read(&device, &limits, bytes).unwrap();
            let Prepared::Read { words, part, parts, blocks, .. } = read else { panic!("{bytes}") };
            assert_eq!(words, bytes / 16);
            let (part, parts) = (u64::from(part), u64::from(parts));
            assert!(
                part * parts >= words && part * (parts - 1) <= words,
                "{bytes}: {parts} of {part}"
            );
            // Up to the limit, each block has one chunk. Above the limit, blocks claim chunks of
            // equal size.
            match bytes > DRAWN {
                false => assert!(parts <= u64::from(fit) && u64::from(blocks) == parts, "{bytes}"),
                true => assert!(part == PART && blocks == fit && parts > u64::from(fit), "{bytes}"),
            }
        }
    }

    #[test]
    fn an_empty_kernel_and_a_read_take_one_launch_each() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let limits = Limits::load(&device, &LIMITS).unwrap();
        let workload = Workload::<f32>::new(&device, Input::Ones, 1025, 1).unwrap();
        let read = Prepared::read(&device, &limits, 4 * 1025).unwrap();
        for (limit, entry) in [(Prepared::empty(&limits), "empty"), (read, "read")] {
            let calls = limit.calls(workload.warm()).unwrap();
            let names: Vec<&str> = calls.iter().map(|call| call.entry.as_str()).collect();
            assert_eq!(names, [entry]);
            let Device::Simt(simt) = &device else { panic!("the interpreter was opened") };
            simt.watch(1025);
            limit.launch(&device, &calls, workload.warm()).unwrap();
            assert_eq!(simt.observed().counters.launches.len(), 1, "{entry}");
        }
    }
}
