//! Ranks that are interpreters. Their stages run on a simulated GPU, and compute the same bits as
//! on a real GPU.

use std::{ops::Range, time::Duration};

use reduce::{
    Element, ExactAccumulator, ExactElement, Family, Operation, Shape, launch, shape, stages,
    stages::Stage,
};
use simt::{Arg, Config, Gpu, Launch, Module};

use crate::{Error, Layout, Result};

/// An element type that can be converted to its bytes in memory.
pub trait Bytes: Element {
    /// Appends the bytes of this element.
    fn put(self, row: &mut Vec<u8>);
}

macro_rules! bytes {
    ($($type:ty)+) => {$(
        impl Bytes for $type {
            fn put(self, row: &mut Vec<u8>) {
                row.extend(self.to_le_bytes());
            }
        }
    )+};
}
bytes! { f32 f64 i32 u32 i64 u64 half::f16 half::bf16 }

/// Returns the bytes of the elements in memory.
pub fn row<T: Bytes>(elements: &[T]) -> Vec<u8> {
    let mut row = Vec::with_capacity(size_of_val(elements));
    elements.iter().for_each(|element| element.put(&mut row));
    row
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Played(format!("the interpreter: {error}"))
}

/// The major compute capability of the PTX that is interpreted (Hopper).
const MAJOR: i32 = 9;

/// The number of resident blocks on the simulated GPU. It is smaller than the number of chunks in a
/// long slice, so that some blocks add several chunks.
const RESIDENT: u32 = 100;

/// A simulated GPU, and the number of threads in its blocks.
struct Played {
    gpu: Gpu,
    threads: u32,
}

impl Played {
    fn new() -> Played {
        let mut config = Config::default();
        // These kernels always end, but a block may take a long time on a busy machine.
        config.patience = Some(Duration::from_secs(120));
        Played { gpu: Gpu::with(config), threads: Stage::THREADS }
    }

    fn room(&mut self, bytes: u64) -> Result<u64> {
        let at = self.gpu.alloc(bytes.max(16)).map_err(failed)?;
        self.gpu.fill(at, 0, bytes.max(16)).map_err(failed)?;
        Ok(at)
    }

    fn holding(&mut self, bytes: &[u8]) -> Result<u64> {
        let at = self.gpu.alloc(bytes.len().max(16) as u64).map_err(failed)?;
        self.gpu.write(at, bytes).map_err(failed)?;
        Ok(at)
    }

    fn launch(&mut self, kernel: reduce::Kernel, grid: u32, args: Vec<Arg>) -> Result<()> {
        let module = Module::parse(&kernel.ptx(MAJOR)).map_err(failed)?;
        let launch = Launch {
            entry: &kernel.name(),
            grid: [grid, 1, 1],
            block: [self.threads, 1, 1],
            cluster: [1, 1, 1],
            shared: 0,
            args,
        };
        self.gpu.launch_watched(&module, &launch, None).map_err(failed)
    }

    fn read(&mut self, at: u64, bytes: u64) -> Result<Vec<u8>> {
        let mut read = vec![0; bytes as usize];
        self.gpu.read(at, &mut read).map_err(failed)?;
        Ok(read)
    }
}

/// Computes the integers that a rank contributes to an exact sum.
pub fn exact_words<T: Bytes + ExactElement>(shard: &[T]) -> Result<Vec<u64>> {
    let (n, size) = (shard.len() as u64, size_of::<T>() as u64);
    let (chunks, vectors) = T::CUT.chunks(n, size, RESIDENT);
    let grid = chunks.min(RESIDENT);
    let bytes = 8 * ExactAccumulator::<T::Output>::WORDS as u64;
    let mut played = Played { threads: T::CUT.threads, ..Played::new() };
    let input = played.holding(&row(shard))?;
    let (at, state) = (played.room(bytes)?, played.room(launch::STATE as u64)?);
    let args = vec![
        Arg::U64(input),
        Arg::U64(at),
        Arg::U64(n),
        Arg::U32(vectors),
        Arg::U32(chunks),
        Arg::U64(if grid == 1 { 0 } else { state }),
        Arg::U32(launch::RAW),
    ];
    played.launch(T::KERNEL, grid, args)?;
    let bytes = played.read(at, bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// Computes the block that a rank sends to the other ranks: a stamp, followed by the sums of the
/// rank's chunks or, in a small sum, by its elements.
pub fn block<T: Bytes>(
    shard: &[T],
    layout: &Layout,
    rank: u32,
    operation: Operation,
    stamp: u64,
) -> Result<Vec<u8>> {
    let head = [stamp.to_le_bytes(), [0; 8]].concat();
    if layout.is_small() {
        return Ok([head, row(shard)].concat());
    }
    let (parts, size) = (layout.of(rank).len() as u32, size_of::<T::Output>());
    let bytes = layout.stride(size) * 8;
    if parts == 0 {
        return Ok([head, vec![0; bytes as usize - 16]].concat());
    }
    let mut played = Played::new();
    let input = played.holding(&row(shard))?;
    let (at, state) = (played.room(bytes)?, played.room(16)?);
    let args = vec![
        Arg::U64(input),
        Arg::U64(at),
        Arg::U64(shard.len() as u64),
        Arg::U32(layout.shape.vectors()),
        Arg::U32(parts),
        Arg::U64(state),
        Arg::U64(stamp),
        Arg::U32(0),
    ];
    let kernel = stages::kernel::<T>(operation, Stage::Partials);
    played.launch(kernel, parts.min(RESIDENT), args)?;
    played.read(at, bytes)
}

/// Computes the bits of the result from the blocks of all ranks.
pub fn finish<T: Bytes>(
    blocks: &[Vec<u8>],
    layout: &Layout,
    operation: Operation,
    stamp: u64,
) -> Result<u64> {
    if layout.is_small() {
        let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
        return elements::<T>(&blocks, 16, layout.shape, operation, stamp)?
            .map_err(crate::stamp::other);
    }
    let mut played = Played::new();
    let stride = layout.stride(size_of::<T::Output>());
    let places = layout.places(size_of::<T::Output>());
    let table: Vec<u8> = places.table.iter().flat_map(|place| place.to_le_bytes()).collect();
    let (row, table) = (played.holding(&blocks.concat())?, played.holding(&table)?);
    let output = played.room(32)?;
    let args = vec![
        Arg::U64(row),
        Arg::U64(output),
        Arg::U64(stride),
        Arg::U32(layout.world()),
        Arg::U32(layout.parts()),
        Arg::U32(places.share),
        Arg::U32(places.gap),
        Arg::U64(table),
        Arg::U64(stamp),
        Arg::U32(1),
    ];
    played.launch(stages::kernel::<T>(operation, Stage::Finish), 1, args)?;
    told::<T>(&played.read(output, 32)?, 1)?.map_err(crate::stamp::other)
}

/// Computes the result over a small slice in which each rank's elements begin `head` bytes after
/// the rank's address. Returns the bits of the result, or the rank whose stamp differs.
fn elements<T: Bytes>(
    ranks: &[&[u8]],
    head: usize,
    shape: Shape,
    operation: Operation,
    stamp: u64,
) -> Result<std::result::Result<u64, u32>> {
    let mut played = Played { threads: shape.threads(), ..Played::new() };
    let (mut table, mut firsts, mut first) = (Vec::new(), vec![0; 4], 0u32);
    for rank in ranks {
        // Each rank has its own allocation, so that the interpreter finds reads past its end.
        let at = played.holding(rank)? + head as u64;
        table.extend(at.to_le_bytes());
        first += ((rank.len() - head) / size_of::<T>()) as u32;
        firsts.extend(first.to_le_bytes());
    }
    let (table, firsts) = (played.holding(&table)?, played.holding(&firsts)?);
    let output = played.room(32)?;
    let state = played.room(16 + u64::from(shape.values()) * size_of::<T::Output>() as u64 * 2)?;
    let args = vec![
        Arg::U64(table),
        Arg::U64(output),
        Arg::U64(firsts),
        Arg::U32(ranks.len() as u32),
        Arg::U32(shape.vectors()),
        Arg::U32(shape.chunks()),
        Arg::U64(state),
        Arg::U64(stamp),
        Arg::U32(1),
    ];
    played.launch(stages::kernel::<T>(operation, Stage::Elements), shape.chunks(), args)?;
    told::<T>(&played.read(output, 32)?, 1)
}

/// Computes the bits of the result over a small slice on the GPUs of one host, where one GPU reads
/// all elements in place.
pub fn read<T: Bytes>(shards: &[&[T]], shape: Shape, operation: Operation) -> Result<u64> {
    let rows: Vec<Vec<u8>> = shards.iter().map(|shard| row(shard)).collect();
    let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
    elements::<T>(&rows, 0, shape, operation, 0)?.map_err(crate::stamp::other)
}

/// Reads the bits of a result, or the number of the faulty rank or chunk.
fn told<T: Element>(words: &[u8], epoch: u32) -> Result<std::result::Result<u64, u32>> {
    let word = |at: usize| u64::from_le_bytes(words[8 * at..8 * at + 8].try_into().expect("eight"));
    let half = |at: usize| Some(word(at)).filter(|word| (word >> 32) as u32 == epoch);
    if let Some(wrong) = half(2) {
        return Ok(Err(wrong as u32));
    }
    let lost = || Error::Played("in the interpreter, the stage left no result".into());
    let low = half(0).ok_or_else(lost)? & 0xffff_ffff;
    let high = if size_of::<T::Output>() == 8 { half(1).ok_or_else(lost)? << 32 } else { 0 };
    Ok(Ok(low | high))
}

/// Computes the bits of the result of a single launch over all elements, which is the reference for
/// several ranks.
pub fn one<T: Bytes>(elements: &[T], operation: Operation) -> Result<u64> {
    let (n, size) = (elements.len() as u64, size_of::<T>() as u64);
    let shape =
        shape::pick(n, size).ok_or(reduce::Error::TooLong { n, size, most: shape::LONGEST })?;
    let mut played = Played { threads: shape.threads(), ..Played::new() };
    let input = played.holding(&row(elements))?;
    let output = played.room(32)?;
    let state = played.room(16 + u64::from(shape.values()) * size_of::<T::Output>() as u64 * 2)?;
    let args = vec![
        Arg::U64(input),
        Arg::U64(output),
        Arg::U64(n),
        Arg::U32(shape.vectors()),
        Arg::U32(shape.chunks()),
        Arg::U64(state),
        Arg::U32(1),
    ];
    let kernel = reduce::kernel::<T>(operation, Family::of(shape, true));
    played.launch(kernel, shape.chunks().min(RESIDENT), args)?;
    let told = told::<T>(&played.read(output, 32)?, 1)?;
    told.map_err(|what| Error::Played(format!("the interpreter: chunk {what} is missing")))
}

/// Interprets the GPUs of one host, which exchange messages inside their kernels, one after
/// another. Each GPU publishes to the slots of all GPUs, and only the last GPU polls, after all
/// messages have been published. Returns the bits of the result, or the missing chunk.
pub fn exchange<T: Bytes>(
    shards: &[&[T]],
    shape: Shape,
    parts: &[Range<u32>],
    operation: Operation,
    epoch: u32,
    patience: u32,
) -> Result<std::result::Result<u64, u32>> {
    let (world, count) = (shards.len(), parts.iter().map(|of| of.end).max().unwrap_or(0));
    let mut played = Played::new();
    let slots: Vec<u64> = (0..world)
        .map(|_| played.room(2 * shape::CHUNKS * size_of::<T::Output>() as u64 * 2))
        .collect::<Result<_>>()?;
    let table: Vec<u8> = slots.iter().flat_map(|at| at.to_le_bytes()).collect();
    let (table, output) = (played.holding(&table)?, played.room(32)?);
    for (rank, (shard, own)) in shards.iter().zip(parts).enumerate() {
        let (input, state) = (played.holding(&row(shard))?, played.room(16)?);
        let waits = rank + 1 == world;
        let args = vec![
            Arg::U64(input),
            Arg::U64(output),
            Arg::U64(shard.len() as u64),
            Arg::U32(shape.vectors()),
            Arg::U32(own.len() as u32),
            Arg::U64(state),
            Arg::U32(epoch),
            Arg::U32(epoch),
            Arg::U32(own.start),
            Arg::U32(count),
            Arg::U64(table),
            Arg::U32(world as u32),
            Arg::U32(rank as u32),
            Arg::U32(if waits { patience } else { 0 }),
        ];
        let grid = (own.len() as u32).clamp(1, RESIDENT);
        played.launch(stages::kernel::<T>(operation, Stage::Exchange), grid, args)?;
    }
    told::<T>(&played.read(output, 32)?, epoch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, Datum};

    /// Checks the order in which a thread combines its values. It affects the result only if a
    /// thread has at least three values, which takes many chunks. The chunks are short, because a
    /// real slice with as many chunks would take too long to interpret.
    fn finished<T: Datum>(parts: u32, world: u32) {
        let layout = Layout::of_parts::<T>(parts, world);
        let elements = Data::of::<T>(0..layout.n);
        let sums = stages::partials(&elements, layout.shape, Operation::Sum);
        let block = |rank| {
            let own = layout.of(rank);
            let mut block = [7u64.to_le_bytes(), [0; 8]].concat();
            for sum in &sums[own.start as usize..own.end as usize] {
                let word = reduce::Accumulator::to_bits64(*sum).to_le_bytes();
                block.extend(&word[..size_of::<T::Output>()]);
            }
            block.resize(layout.stride(size_of::<T::Output>()) as usize * 8, 0xee);
            block
        };
        let blocks: Vec<_> = (0..world).map(block).collect();
        let bits = finish::<T>(&blocks, &layout, Operation::Sum, 7).unwrap();
        let right = stages::finish::<T>(&sums, Operation::Sum);
        let right = reduce::Accumulator::to_bits64(right);
        assert_eq!(bits, right, "{parts} chunks of {}, {world} ranks", T::NAME);
    }

    #[test]
    fn a_finish_over_many_chunks_joins_them_in_order() {
        for parts in [3, 65, 97, 128, 129, 513, 1100, 4097, 9001, 16_384] {
            // Many chunks are slow to interpret.
            let worlds: &[u32] = if parts < 4097 { &[1, 2, 3, 64] } else { &[3] };
            for world in worlds {
                finished::<f32>(parts, *world);
            }
            finished::<f64>(parts, 5);
            finished::<half::f16>(parts, 2);
        }
    }

    fn exchanged<T: Datum>(parts: u32, world: u32) {
        let layout = Layout::of_parts::<T>(parts, world);
        let elements = Data::of::<T>(0..layout.n);
        let of = |rank| {
            let own = layout.elements(rank);
            &elements[own.start as usize..own.end as usize]
        };
        let shards: Vec<&[T]> = (0..world).map(of).collect();
        let own: Vec<_> = (0..world).map(|rank| layout.of(rank)).collect();
        let told = exchange(&shards, layout.shape, &own, Operation::Sum, 3, 1000).unwrap();
        let sums = stages::partials(&elements, layout.shape, Operation::Sum);
        let right = stages::finish::<T>(&sums, Operation::Sum);
        let right = reduce::Accumulator::to_bits64(right);
        assert_eq!(told, Ok(right), "{parts} chunks of {}, {world} GPUs", T::NAME);
    }

    #[test]
    fn messages_of_many_chunks_are_joined_in_order() {
        exchanged::<f32>(97, 2);
        exchanged::<f32>(1100, 3);
        exchanged::<f64>(1100, 2);
    }

    #[test]
    #[ignore = "a sweep: cargo x ci --sweeps"]
    fn messages_of_the_most_chunks_are_joined_in_order() {
        exchanged::<f32>(5003, 2);
        exchanged::<f32>(16_384, 3);
        exchanged::<f64>(9001, 3);
    }
}
