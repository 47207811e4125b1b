//! Exact sums on a stream.

use std::cell::OnceCell;

use super::{
    ExactAccumulator, ExactElement, ExactFloat, ExactProduct, accumulator::MOST, flags::Flags,
    words::Words,
};
use crate::{
    Error, Result,
    cuda::{self, Address, Call, State},
    engine::{Engine, get_or_try},
    modules::{self, Loaded},
    shape,
};

/// Threads of a block.
#[doc(hidden)]
pub const THREADS: u32 = 256;

/// The most vectors of a chunk. A thread has 2^10 of them, and at most two elements more: not half of the 2^14
/// additions that a bin takes, or of the 2^12 that a register takes.
pub(super) const LONGEST: u64 = 256 << 10;

/// The fewest vectors of a chunk, if there is more than one: eight loads of each thread.
const SHORTEST: u64 = 256 * 8;

/// The kernels and the memory of exact sums.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    sum: OnceCell<Loaded>,
    dot: OnceCell<Loaded>,
    pub(super) rows: OnceCell<Loaded>,
    /// The ticket, the flags, and 68 digits: zero between launches.
    state: OnceCell<State>,
}

/// Bytes of the state: a word for ticket and flags, and the digits.
#[doc(hidden)]
pub const STATE: usize = 8 * (1 + 68);

/// The epoch of a launch that stores flags and digits, not the rounded sum.
#[doc(hidden)]
pub const RAW: u32 = u32::MAX;

/// Words that such a launch stores: counts of the flags, and the digits of floats or of doubles.
#[doc(hidden)]
pub const RAW_WORDS: [usize; 2] = [1 + 12, 1 + 68];

/// The accumulator of `n` elements whose flags and digits a launch stored. A kernel of products has the digits of
/// doubles.
#[doc(hidden)]
pub fn accumulator<A: ExactFloat>(raw: &[u64], n: u64) -> ExactAccumulator<A> {
    let unit = if raw.len() == RAW_WORDS[0] { -150 } else { -1074 };
    let mut words = Words::new(A::LAYOUT.window);
    for (digit, at) in raw[1..].iter().zip(0..) {
        let digit = *digit as i64;
        words.add(digit < 0, digit.unsigned_abs().into(), unit + 32 * at);
    }
    // Each flag has 16 bits: the number of launches, at most 65,535, that have set it.
    let flags = (0..4).filter(|flag| raw[0] >> (16 * flag) & 0xffff != 0);
    let flags = flags.fold(0, |flags, flag| flags | 1 << flag);
    ExactAccumulator::of(words, Flags::of_bits(flags).expect("four flags"), n)
}

impl<A: ExactFloat> ExactAccumulator<A> {
    /// The number of words that [`raw::exact_words_into`](crate::raw::exact_words_into) stores: 13 for `f32`, 69 for
    /// `f64`.
    pub const WORDS: usize = RAW_WORDS[size_of::<A>() / 8];

    /// The accumulator of `n` elements whose words devices have stored: one device, or up to 65,535, whose words were
    /// added as integers that wrap, in any order.
    ///
    /// # Errors
    /// There are fewer or more words than [`WORDS`](Self::WORDS), or more than 2^62 elements.
    pub fn from_words(words: &[u64], n: u64) -> Result<ExactAccumulator<A>> {
        let (name, found, expected) = (A::LAYOUT.name, words.len(), Self::WORDS);
        if found != expected {
            let what = format!("there are {found} words instead of {expected}");
            return Err(Error::NotWords { name, what });
        }
        if n > MOST {
            let what = format!("they are said to be of {n} elements; the most are 2^62");
            return Err(Error::NotWords { name, what });
        }
        Ok(accumulator(words, n))
    }
}

/// The number of chunks, at least one, and the vectors of each, for a device on which that many blocks are
/// resident. The result does not depend on them.
#[doc(hidden)]
pub fn cut(n: u64, size: u64, resident: u32) -> (u32, u32) {
    cut_at(n, size, resident, LONGEST)
}

/// As [`cut`], for the products of two slices: each of two registers takes half of a vector's.
#[doc(hidden)]
pub fn cut_pair(n: u64, size: u64, resident: u32) -> (u32, u32) {
    // Eight halves are four additions to a register: a fourth as many vectors as of doubles.
    cut_at(n, size, resident, LONGEST / 4)
}

fn cut_at(n: u64, size: u64, resident: u32, longest: u64) -> (u32, u32) {
    let all = n.div_ceil(16 / size);
    let each = all.div_ceil(resident.into()).clamp(SHORTEST, longest).next_multiple_of(8);
    (all.div_ceil(each).max(1) as u32, each as u32)
}

impl<T: ExactElement> Engine<T> {
    /// The exact sum of all elements at an address. Waits for it. The stream is not being captured.
    pub(crate) fn wait_exact(&self, input: Address<'_>) -> Result<T::Output> {
        self.wait_for(|output, epoch| self.launch_exact(input, output, epoch))
    }

    /// Writes the exact sum of all elements at an address to another address.
    pub(crate) fn leave_exact(&self, input: Address<'_>, output: Address<'_>) -> Result<()> {
        let _bound = self.queue().stream.bind()?;
        self.launch_exact(input, output, 0)
    }

    /// Writes flags and digits to words at an address, as many as [`RAW_WORDS`] says for the result.
    pub(crate) fn leave_raw(&self, input: Address<'_>, output: Address<'_>) -> Result<()> {
        let _bound = self.queue().stream.bind()?;
        self.launch_exact(input, output, RAW)
    }

    pub(super) fn launch_exact(
        &self,
        input: Address<'_>,
        output: Address<'_>,
        epoch: u32,
    ) -> Result<()> {
        let (n, size) = (input.len(), size_of::<T>() as u64);
        let kept = &self.exact().sum;
        let loaded = get_or_try(kept, || modules::load(self.queue(), T::KERNEL, THREADS))?;
        let call = call(loaded, input, output, epoch, cut(n, size, loaded.blocks));
        let run = |state: Option<Address<'_>>| {
            cuda::launch(loaded.function, self.queue().stream, call, state)
        };
        self.with_exact_state(call, size, run)
    }

    /// Calls a function with the state, if there are several blocks.
    fn with_exact_state(
        &self,
        call: Call<'_>,
        size: u64,
        run: impl FnOnce(Option<Address<'_>>) -> Result<()>,
    ) -> Result<()> {
        let (stream, n) = (self.queue().stream, call.input.len());
        if n.checked_mul(size).is_none_or(|bytes| bytes > shape::LONGEST) {
            return Err(Error::TooLong { n, size, most: shape::LONGEST });
        }
        if call.grid == 1 {
            return run(None);
        }
        // A stream whose result is waited for is not being captured: this was checked.
        if matches!(call.epoch, 0 | RAW) && stream.is_capturing()? {
            return cuda::with_captured_state(stream, STATE, run);
        }
        let state = get_or_try(&self.exact().state, || {
            cuda::outside_of_captures(|| State::new(self.queue(), STATE))
        })?;
        run(Some(state.address()))
    }
}

impl<T: ExactProduct> Engine<T> {
    /// The exact dot product of as many elements at one address as at another. Waits for it.
    pub(crate) fn wait_dot(&self, a: Address<'_>, b: Address<'_>) -> Result<f32> {
        self.wait_for(|output, epoch| self.launch_dot(a, b, output, epoch))
    }

    /// Writes the exact dot product of as many elements at one address as at another to a third address.
    pub(crate) fn leave_dot(
        &self,
        a: Address<'_>,
        b: Address<'_>,
        output: Address<'_>,
    ) -> Result<()> {
        let _bound = self.queue().stream.bind()?;
        self.launch_dot(a, b, output, 0)
    }

    /// Writes flags and digits of a dot product to words at an address, as many as doubles have.
    pub(crate) fn leave_raw_dot(
        &self,
        a: Address<'_>,
        b: Address<'_>,
        output: Address<'_>,
    ) -> Result<()> {
        let _bound = self.queue().stream.bind()?;
        self.launch_dot(a, b, output, RAW)
    }

    fn launch_dot(
        &self,
        a: Address<'_>,
        b: Address<'_>,
        output: Address<'_>,
        epoch: u32,
    ) -> Result<()> {
        let size = size_of::<T>() as u64;
        let loaded =
            get_or_try(&self.exact().dot, || modules::load(self.queue(), T::DOT, THREADS))?;
        let call = call(loaded, a, output, epoch, cut_pair(a.len(), size, loaded.blocks));
        let run = |state: Option<Address<'_>>| {
            cuda::launch_pair(loaded.function, self.queue().stream, call, b, state)
        };
        self.with_exact_state(call, size, run)
    }
}

fn call<'m>(
    loaded: &Loaded,
    input: Address<'m>,
    output: Address<'m>,
    epoch: u32,
    (chunks, vectors): (u32, u32),
) -> Call<'m> {
    let grid = chunks.min(loaded.blocks);
    Call { grid, threads: THREADS, input, output, vectors, chunks, epoch }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_all_elements_and_fit_the_bins() {
        for resident in [1, 7, 528, 1056] {
            for size in [2, 4, 8] {
                for n in [0, 1, 1000, 1 << 20, (1 << 32) + 13, shape::LONGEST / size] {
                    let (chunks, vectors) = cut(n, size, resident);
                    let (chunks, vectors) = (u64::from(chunks), u64::from(vectors));
                    let all = n.div_ceil(16 / size);
                    assert!(chunks * vectors >= all && vectors <= LONGEST, "{n} {resident}");
                    assert!((chunks - 1) * vectors < all.max(1), "{n} {resident}");
                    // An element before the vectors, one after them, and the vectors' elements.
                    let of_one = vectors.div_ceil(THREADS.into());
                    assert!(of_one * (16 / size) + 2 <= 1 << 14 && of_one + 2 <= 1 << 12);
                    let (_, vectors) = cut_pair(n, size, resident);
                    let of_one = u64::from(vectors).div_ceil(THREADS.into());
                    assert!(of_one * (16 / size).div_ceil(2) + 2 <= 1 << 12);
                }
            }
        }
    }
}
