//! Adds the matrices in a file that is larger than the GPU memory that the program may use. The
//! matrices are copied in pieces, and each piece is copied while the previous one is added.

use std::{ops::Range, path::Path, time::Instant};

use common::{
    Element, Error, Result, Step,
    device::{
        Address, Device, Memory,
        feed::{Feed, Span},
    },
    ptx,
    run::Job,
    sum::{Elements, Verdict},
};

use crate::{
    file::{self, Opened},
    plan::{self, ENTRIES},
    sums,
};

/// The number of bytes in a matrix.
const MATRIX: u64 = 4 * ENTRIES;

/// A piece starts at a multiple of this number of matrices.
const GRAIN: u64 = 32;

/// The result for a file.
#[derive(Debug)]
pub struct Volume {
    /// The four sums.
    pub sums: [f64; 4],
    /// The exact sums.
    pub exact: [f64; 4],
    /// The number of matrices.
    pub matrices: u64,
    /// The number of pieces.
    pub pieces: u64,
    /// The wall time in seconds, including the reads, or `None` in the interpreter.
    pub seconds: Option<f64>,
    /// The times at which each piece was copied and added, or an empty list in the interpreter.
    pub spans: Vec<Span>,
}

/// A file that is divided into pieces for a device.
pub(crate) struct Streamed<'d> {
    pub(crate) device: &'d Device,
    pub(crate) opened: Opened,
    step: &'static Step,
    /// The number of matrices in a piece; the last piece may have fewer.
    each: u64,
    /// A job for whole pieces, and a job for the last piece.
    jobs: [Job<'d>; 2],
    /// The four sums of each piece.
    left: Vec<Memory>,
}

impl<'d> Streamed<'d> {
    /// Divides a file so that two pieces use at most `bytes` bytes of device memory.
    pub(crate) fn new(device: &'d Device, path: &Path, way: &str, bytes: u64) -> Result<Self> {
        let opened = file::open(path)?;
        let each = bytes / 2 / MATRIX / GRAIN * GRAIN;
        if each == 0 {
            return Err(Error::Usage(format!(
                "`--volume` is {bytes} bytes, but two pieces of {GRAIN} matrices take {}: allow at least that many",
                2 * GRAIN * MATRIX
            )));
        }
        let each = each.min(opened.count.next_multiple_of(GRAIN)).max(GRAIN);
        let step = sums::way(way, opened.order)?;
        let pieces = opened.count.div_ceil(each).max(1);
        let last = opened.count - (pieces - 1) * each;
        let job = |matrices| {
            let problem = device.problem(ENTRIES * matrices, step.block(None), Element::F32);
            Job::load(device, step, &ptx::of(&step.kernel, Element::F32, None)?, problem)
        };
        let jobs = [job(each)?, job(last)?];
        let memory = |_| device.alloc("the sums of a piece", MATRIX);
        let left = (0..pieces).map(memory).collect::<Result<Vec<Memory>>>()?;
        Ok(Streamed { device, opened, step, each, jobs, left })
    }

    /// Returns the number of pieces.
    pub(crate) fn pieces(&self) -> u64 {
        self.left.len() as u64
    }

    /// Returns the range of a piece's matrices.
    pub(crate) fn range(&self, piece: u64) -> Range<u64> {
        let begin = piece * self.each;
        begin..(begin + self.each).min(self.opened.count)
    }

    /// Returns the number of bytes in a piece; the first piece is the largest.
    pub(crate) fn bytes(&self, piece: u64) -> u64 {
        let Range { start, end } = self.range(piece);
        MATRIX * (end - start)
    }

    fn job(&self, piece: u64) -> &Job<'d> {
        &self.jobs[usize::from(piece + 1 == self.pieces())]
    }

    /// Launches the kernels that add the piece at an address, and a copy of the piece's four sums.
    pub(crate) fn add(&self, piece: u64, address: Address<'_>) -> Result<()> {
        let job = self.job(piece);
        job.launch(&job.calls(address)?)?;
        let sums = job.address(plan::SUMS, address);
        match (self.device, &self.left[piece as usize]) {
            (Device::Cuda(cuda), Memory::Cuda(left)) => {
                cuda.copy(sums.first(MATRIX)?, left.address())
            }
            (device, left) => {
                let sums = job.output::<f32>(plan::SUMS, ENTRIES)?;
                device.write(left, 0, &bytes_of(&sums))
            }
        }
    }

    /// Reads the four sums of each piece.
    pub(crate) fn sums(&self) -> Result<Vec<[f32; 4]>> {
        self.device.finish()?;
        let four = |memory: &Memory| {
            let mut bytes = [0; MATRIX as usize];
            self.device.read(memory, &mut bytes)?;
            Ok([0, 4, 8, 12].map(|at| file::float(&bytes[at..])))
        };
        self.left.iter().map(four).collect()
    }

    /// Verifies the sums of a piece, and returns the exact sums.
    pub(crate) fn hold(&self, piece: u64, values: &[f32], sums: [f32; 4]) -> Result<[f64; 4]> {
        let elements = Elements::drawn(values);
        let chunks = elements.chunks();
        let references = sums::references(elements.with(&chunks), self.opened.order);
        let mut exact = [0.0; 4];
        for (entry, (sum, reference)) in sums.into_iter().zip(references).enumerate() {
            exact[entry] = reference.float();
            if !Verdict::of(sum, &reference, self.job(piece).plan().depth()).verified() {
                return Err(Error::Wrong(format!(
                    "{}: entry {entry} of piece {piece}, matrices {:?}, is {sum}, but should be {}",
                    self.step.name,
                    self.range(piece),
                    exact[entry]
                )));
            }
        }
        Ok(exact)
    }
}

/// Adds the matrices in a file with the version of this name, using `bytes` bytes of device memory.
pub fn add(device: &Device, path: &Path, way: &str, bytes: u64) -> Result<Volume> {
    let mut streamed = Streamed::new(device, path, way, bytes)?;
    let room = usize::try_from(streamed.bytes(0)).unwrap_or(usize::MAX);
    let (seconds, spans) = match device {
        Device::Cuda(cuda) => {
            let mut feed = Feed::new(cuda, streamed.bytes(0))?;
            feed.start()?;
            let started = Instant::now();
            for piece in 0..streamed.pieces() {
                let (range, bytes) = (streamed.range(piece), streamed.bytes(piece));
                streamed.opened.piece(range, &mut feed.piece()?[..bytes as usize])?;
                feed.send(bytes, |address| streamed.add(piece, address))?;
            }
            feed.finish()?;
            (Some(started.elapsed().as_secs_f64()), feed.spans()?)
        }
        Device::Simt(_) => {
            let memory = device.alloc("a piece of the input", streamed.bytes(0))?;
            let mut host = vec![0; room];
            for piece in 0..streamed.pieces() {
                let (range, bytes) = (streamed.range(piece), streamed.bytes(piece) as usize);
                streamed.opened.piece(range, &mut host[..bytes])?;
                device.write(&memory, 0, &host[..bytes])?;
                streamed.add(piece, memory.address())?;
            }
            (None, Vec::new())
        }
    };
    let (mut sums, mut exact) = ([0.0; 4], [0.0; 4]);
    let mut host = vec![0; room];
    for (piece, found) in (0..).zip(streamed.sums()?) {
        let (range, bytes) = (streamed.range(piece), streamed.bytes(piece) as usize);
        streamed.opened.piece(range, &mut host[..bytes])?;
        let values: Vec<f32> = host[..bytes].chunks_exact(4).map(file::float).collect();
        let right = streamed.hold(piece, &values, found)?;
        for entry in 0..4 {
            sums[entry] += f64::from(found[entry]);
            exact[entry] += right[entry];
        }
    }
    let (matrices, pieces) = (streamed.opened.count, streamed.pieces());
    Ok(Volume { sums, exact, matrices, pieces, seconds, spans })
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
