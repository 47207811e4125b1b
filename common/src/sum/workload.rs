//! The elements, on the host and on the device, with the reference sum.

use std::{
    cell::{Cell, OnceCell},
    time::Instant,
};

use numbers::{Reference, Scalar};

use super::{
    elements::Elements,
    input::{Input, room},
};
use crate::{
    Error, Result,
    device::{Address, Device, Memory, host},
};

/// The total size, in bytes, of the copies of the input, which cold samples use in turn. This size
/// ensures that the input of each sample is outside L2, whose capacity is 60 MB on an H200.
const ROTATION: u64 = 1 << 30;

/// An input that is ready for any number of steps.
#[derive(Debug)]
pub struct Workload<T> {
    /// The elements, in host memory.
    pub values: Vec<T>,
    /// The sum of the elements.
    pub reference: Reference,
    /// The duration of the copy to the device in seconds, on the host's clock; `None` in the
    /// interpreter.
    pub copy: Option<f64>,
    memory: Memory,
    offset: u64,
    stride: u64,
    copies: u64,
    next: Cell<u64>,
    slip: Cell<Option<Slip>>,
    chunks: Vec<Reference>,
    exact_chunks: OnceCell<Vec<Reference>>,
}

/// A simulated fault in a kernel. At one index, the number on the device differs from the number on
/// the host. Tests check that the verdict detects the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slip {
    /// The index of the element.
    pub at: u64,
    /// Whether the element is added twice instead of being left out.
    pub twice: bool,
}

/// The number of elements that are drawn and copied at a time.
const CHUNK: u64 = 1 << 24;

impl<T: Scalar> Workload<T> {
    /// Draws the elements, computes their sum, and copies them to the device. On a GPU, there are
    /// several copies of a small input, so that the input of each cold sample is outside L2.
    pub fn new(device: &Device, input: Input, n: u64, seed: u64) -> Result<Workload<T>> {
        Workload::shifted(device, input, n, seed, 0)
    }

    /// Like [`new`](Workload::new), but with `offset` other elements before the first, so that the
    /// address need not be a multiple of 16 bytes.
    pub fn shifted(
        device: &Device,
        input: Input,
        n: u64,
        seed: u64,
        offset: u64,
    ) -> Result<Workload<T>> {
        let place = Place::of::<T>(device, n, offset)?;
        place.hold(device, input.draw(n, seed)?, offset)
    }

    /// Like [`new`](Workload::new), but with existing elements, such as those from a file.
    pub fn of_values(device: &Device, values: Vec<T>) -> Result<Workload<T>> {
        Workload::of_values_after(device, 0, values)
    }

    /// Like [`of_values`](Workload::of_values), but with `offset` other elements before the first.
    pub fn of_values_after(device: &Device, offset: u64, values: Vec<T>) -> Result<Workload<T>> {
        Place::of::<T>(device, values.len() as u64, offset)?.hold(device, values, offset)
    }

    /// Returns the drawn elements, with the known sums of their chunks.
    pub fn elements(&self) -> Elements<'_, T> {
        Elements::drawn(&self.values).with(&self.chunks)
    }

    /// Returns as many exact elements as there are drawn elements.
    pub fn exact(&self) -> Elements<'_, T> {
        let exact = Elements::exact(self.values.len() as u64);
        exact.with(self.exact_chunks.get_or_init(|| exact.chunks()))
    }

    /// Runs `work` while the first copy, at [`warm`](Workload::warm), holds exact elements.
    pub fn while_exact<R>(&self, device: &Device, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.put(device, self.exact())?;
        let done = work();
        match (device, &self.memory) {
            (Device::Cuda(cuda), Memory::Cuda(memory))
                if self.copies > 1 && self.slip.get().is_none() =>
            {
                let second = memory.address().skip(self.stride).first(self.stride)?;
                cuda.copy(second, memory.address())?;
                cuda.finish()?;
            }
            _ => self.put(device, self.elements())?,
        }
        done
    }

    /// Changes one element on the device for all later runs.
    pub fn inject(&self, device: &Device, slip: Slip) -> Result<()> {
        self.slip.set(Some(slip));
        self.put(device, self.elements())
    }

    /// Writes elements to the first copy.
    fn put(&self, device: &Device, elements: Elements<'_, T>) -> Result<()> {
        let (n, size) = (elements.count(), T::ELEMENT.size());
        let mut values = room(n.min(CHUNK))?;
        for first in (0..n).step_by(CHUNK as usize) {
            values.resize(CHUNK.min(n - first) as usize, T::ZERO);
            elements.copy(first, &mut values);
            if let Some(Slip { at, twice }) = self.slip.get()
                && let Some(value) = values.get_mut(at.wrapping_sub(first) as usize)
            {
                *value = if twice { value.plus(*value) } else { T::ZERO };
            }
            device.write(
                &self.memory,
                self.offset + first * size,
                bytemuck::cast_slice(&values),
            )?;
        }
        Ok(())
    }

    /// Returns the total size of all copies in bytes. Cold samples rotate through the copies.
    pub fn pool(&self) -> u64 {
        self.stride * self.copies
    }

    /// Returns the address of the elements.
    pub fn warm(&self) -> Address<'_> {
        self.memory.address().skip(self.offset)
    }

    /// Returns the address of the least recently used copy.
    pub fn cold(&self) -> Address<'_> {
        let next = self.next.get();
        self.next.set((next + 1) % self.copies);
        self.memory.address().skip(next * self.stride + self.offset)
    }
}

/// Returns the distance between copies in bytes, and the number of copies, if `free` bytes are
/// available.
fn pool(bytes: u64, free: u64) -> (u64, u64) {
    let stride = bytes.next_multiple_of(256).max(256);
    // Half of the free memory stays free, for partial sums and for other programs.
    (stride, (ROTATION.div_ceil(stride) + 1).min(free / 2 / stride).max(1))
}

/// The memory for an input on a device.
struct Place {
    what: String,
    bytes: u64,
    stride: u64,
    copies: u64,
}

impl Place {
    /// Reserves memory for `n` elements after `offset` others. On a GPU, the memory has room for
    /// several copies of a small input. Fails if the host or the device does not have enough
    /// memory.
    fn of<T: Scalar>(device: &Device, n: u64, offset: u64) -> Result<Place> {
        let bytes = (n + offset) * T::ELEMENT.size();
        let what = format!("the input of {n} {}", T::ELEMENT);
        let (stride, copies) = match device {
            Device::Cuda(cuda) => {
                let free = cuda.free_bytes();
                if bytes > free {
                    return Err(Error::Memory { what, place: "device", needed: bytes, free });
                }
                pool(bytes, free)
            }
            Device::Simt(_) => (bytes, 1),
        };
        let free = host::free_bytes();
        if bytes > free {
            return Err(Error::Memory { what, place: "host", needed: bytes, free });
        }
        Ok(Place { what, bytes, stride, copies })
    }

    /// Computes the sum of the elements, and copies them to the device.
    fn hold<T: Scalar>(self, device: &Device, values: Vec<T>, offset: u64) -> Result<Workload<T>> {
        let Place { what, bytes, stride, copies } = self;
        let chunks = Elements::drawn(&values).chunks();
        let reference = Elements::drawn(&values).with(&chunks).total();
        let memory = device.alloc(&what, stride * copies)?;
        if stride != bytes {
            // The gap between two copies is copied too, and must not count as uninitialized.
            device.fill(&memory, 0)?;
        }
        // The interpreter is not timed, and a page of the book has no clock.
        let started = matches!(device, Device::Cuda(_)).then(Instant::now);
        let size = T::ELEMENT.size();
        // The memory before the first element is filled with ones, so that a kernel that adds them
        // gives a wrong sum.
        device.write(&memory, 0, bytemuck::cast_slice(&vec![T::ONE; offset as usize]))?;
        device.write(&memory, offset * size, bytemuck::cast_slice(&values))?;
        let mut copy = None;
        if let (Device::Cuda(cuda), Memory::Cuda(memory)) = (device, &memory) {
            copy = started.map(|started| started.elapsed().as_secs_f64());
            cuda.repeat(memory, stride)?;
        }
        let (next, slip) = (Cell::new(0), Cell::new(None));
        let offset = offset * size;
        Ok(Workload {
            values,
            reference,
            copy,
            memory,
            offset,
            stride,
            copies,
            next,
            slip,
            chunks,
            exact_chunks: OnceCell::new(),
        })
    }
}

#[cfg(test)]
impl<T> Workload<T> {
    /// Simulates several copies, as on a GPU; the interpreter has only one copy.
    pub(crate) fn in_copies(self, device: &Device, copies: u64) -> Workload<T> {
        let memory = device.alloc("copies", self.stride * copies).unwrap();
        Workload { copies, memory, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Choice, Settings};

    #[test]
    fn a_shifted_input_lies_behind_ones() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let shifted = Workload::<f32>::shifted(&device, Input::Uniform, 33, 1, 2).unwrap();
        let mut found = vec![0.0f32; 35];
        device.read(&shifted.memory, bytemuck::cast_slice_mut(&mut found)).unwrap();
        assert_eq!(found[..2], [1.0, 1.0]);
        assert_eq!(found[2..], shifted.values);
        // Exact elements replace the others, but only while the closure runs.
        let exact: Vec<f32> = (0..33).map(f32::exact).collect();
        let during = shifted.while_exact(&device, || {
            let mut found = vec![0.0f32; 35];
            device.read(&shifted.memory, bytemuck::cast_slice_mut(&mut found))?;
            Ok(found)
        });
        assert_eq!(during.unwrap()[2..], exact);
        device.read(&shifted.memory, bytemuck::cast_slice_mut(&mut found)).unwrap();
        assert_eq!(found[2..], shifted.values);
    }

    #[test]
    fn cold_samples_walk_through_the_copies_and_warm_ones_stay() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let one = Workload::<f32>::shifted(&device, Input::Ones, 33, 1, 2).unwrap();
        assert_eq!([one.cold(), one.cold()], [one.warm(); 2]);
        let three = one.in_copies(&device, 3);
        let stride = 35 * 4;
        for copy in [0, 1, 2, 0] {
            assert_eq!(three.cold(), three.warm().skip(copy * stride));
        }
        assert_eq!((three.warm().bytes(), three.pool()), (3 * stride - 2 * 4, 3 * stride));
    }

    #[test]
    fn more_than_the_host_has_is_refused() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let error = Workload::<f32>::new(&device, Input::Ones, 1 << 45, 1).unwrap_err();
        assert!(matches!(error, Error::Memory { place: "host", needed, .. } if needed == 1 << 47));
    }

    /// Elements are copied in chunks of a few million.
    #[test]
    fn elements_copied_in_chunks_are_contiguous() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let n = CHUNK + 13;
        let workload = Workload::<i32>::shifted(&device, Input::Ones, n, 1, 3).unwrap();
        assert_eq!(workload.warm().bytes(), n * 4);
        let slip = Slip { at: CHUNK + 5, twice: true };
        workload.inject(&device, slip).unwrap();
        let mut found = vec![0; (n + 3) as usize];
        device.read(&workload.memory, bytemuck::cast_slice_mut(&mut found)).unwrap();
        let twice = (CHUNK + 5 + 3) as usize;
        assert!(
            found.iter().enumerate().all(|(at, value)| *value == if at == twice { 2 } else { 1 })
        );
        let during = workload.while_exact(&device, || {
            device.read(&workload.memory, bytemuck::cast_slice_mut(&mut found))
        });
        during.unwrap();
        for at in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, n - 1] {
            assert_eq!(found[at as usize + 3], i32::exact(at), "{at}");
        }
    }

    #[test]
    fn the_cache_and_half_of_free_memory_limit_the_copies() {
        let plenty = 1 << 40;
        assert_eq!(pool(0, plenty), (256, (1 << 22) + 1));
        assert_eq!(pool(256, plenty), (256, (1 << 22) + 1));
        assert_eq!(pool(257, plenty), (512, (1 << 21) + 1));
        assert_eq!(pool(1 << 30, plenty), (1 << 30, 2));
        assert_eq!(pool((1 << 30) - 1, plenty), (1 << 30, 2));
        assert_eq!(pool(3 << 30, plenty), (3 << 30, 2));
        // Half of 6 GiB has room for three copies, and half of 3 GiB for one; there is always at
        // least one copy.
        assert_eq!(pool(1 << 28, 6 << 28), (1 << 28, 3));
        assert_eq!(pool(1 << 28, 3 << 28), (1 << 28, 1));
        assert_eq!(pool(1 << 28, 0), (1 << 28, 1));
    }
}
