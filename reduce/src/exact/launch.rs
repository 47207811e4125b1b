//! Exact sums on a stream.

#[doc(hidden)]
pub use super::cut::Cut;
use super::{
    ExactAccumulator, ExactElement, ExactFloat, accumulator::MOST, flags::Flags, words::Words,
};
use crate::{
    Error, Result,
    cuda::{self, Address, Call, State},
    engine::Engine,
    modules::{self, Loaded},
    once::get_or_try,
    shape,
};

/// The size of the state in bytes. The state has eight copies of the flags and of at most 134
/// digits, and each copy occupies whole cache lines.
#[doc(hidden)]
pub const STATE: usize = 8 * 8 * 144;

/// The maximum number of blocks, because each of the eight copies counts up to 4095 blocks.
#[doc(hidden)]
pub const MOST_BLOCKS: u32 = 8 * 4095;

/// The epoch of a launch that stores flags and digits instead of the rounded sum.
#[doc(hidden)]
pub const RAW: u32 = u32::MAX;

/// The number of words that such a launch stores for `f32` and `f64`: one word for the counts of
/// the flags, followed by the digits.
#[doc(hidden)]
pub const RAW_WORDS: [usize; 2] = [1 + 12, 1 + 68];

/// The numbers of words that a launch over products stores for `f32` and `f64`.
#[doc(hidden)]
pub const RAW_PRODUCTS: [usize; 2] = [1 + 20, 1 + 134];

/// Returns the accumulator of `n` elements or products from the flags and digits that a launch has
/// stored.
#[doc(hidden)]
pub fn accumulator<A: ExactFloat>(raw: &[u64], n: u64) -> ExactAccumulator<A> {
    let unit = match raw.len() {
        len if len == RAW_WORDS[0] => -150,
        len if len == RAW_WORDS[1] => -1075,
        len if len == RAW_PRODUCTS[0] => -331,
        _ => -2150,
    };
    let mut words = Words::new(A::LAYOUT.window);
    for (digit, at) in raw[1..].iter().zip(0..) {
        let digit = *digit as i64;
        words.add(digit < 0, digit.unsigned_abs().into(), unit + 32 * at);
    }
    // For each flag, 16 bits count the launches that have set it; there are at most 65,535
    // launches.
    let flags = (0..4).filter(|flag| raw[0] >> (16 * flag) & 0xffff != 0);
    let flags = flags.fold(0, |flags, flag| flags | 1 << flag);
    ExactAccumulator::of(words, Flags::of_bits(flags).expect("four flags"), n)
}

impl<A: ExactFloat> ExactAccumulator<A> {
    /// The number of words that [`raw::exact_words_into`](crate::raw::exact_words_into) stores: 13
    /// for `f32`, and 69 for `f64`.
    pub const WORDS: usize = RAW_WORDS[size_of::<A>() / 8];

    /// Returns the accumulator of `n` elements from the words that a device has stored, or from the
    /// sum of the words of up to 65,535 devices, added as wrapping integers in any order.
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
            let what = format!("{n} elements were given for them, but the maximum is 2^62");
            return Err(Error::NotWords { name, what });
        }
        Ok(accumulator(words, n))
    }
}

impl<T: ExactElement> Engine<T> {
    /// Computes the exact sum of all elements at an address. Waits for the result. The stream must
    /// not be in capture mode.
    pub(crate) fn wait_exact(&self, input: Address<'_>) -> Result<T::Output> {
        self.wait_for(|output, epoch| self.launch_exact(input, output, epoch))
    }

    /// Writes the exact sum of all elements at an address to another address.
    pub(crate) fn leave_exact(&self, input: Address<'_>, output: Address<'_>) -> Result<()> {
        let _bound = self.queue().stream.bind()?;
        self.launch_exact(input, output, 0)
    }

    /// Returns an accumulator of all elements at an address. Waits for the result.
    pub(crate) fn wait_accumulator(
        &self,
        input: Address<'_>,
    ) -> Result<ExactAccumulator<T::Output>> {
        let words = RAW_WORDS[size_of::<T::Output>() / 8];
        self.accumulated(words, input.len(), |output| self.launch_exact(input, output, RAW))
    }

    /// Returns an accumulator of the products of corresponding elements at two addresses. Waits for
    /// the result.
    pub(crate) fn wait_dot_accumulator(
        &self,
        a: Address<'_>,
        b: Address<'_>,
    ) -> Result<ExactAccumulator<T::Output>> {
        let words = RAW_PRODUCTS[size_of::<T::Output>() / 8];
        self.accumulated(words, a.len(), |output| self.launch_dot(a, b, output, RAW))
    }

    /// Returns the accumulator of `n` elements or products from the flags and digits that `launch`
    /// stores.
    fn accumulated(
        &self,
        words: usize,
        n: u64,
        launch: impl FnOnce(Address<'_>) -> Result<()>,
    ) -> Result<ExactAccumulator<T::Output>> {
        let _bound = self.queue().stream.bind()?;
        let kept = get_or_try(&self.exact().words, || {
            let bytes = 8 * RAW_PRODUCTS[size_of::<T::Output>() / 8];
            cuda::outside_of_captures(|| State::new(self.queue(), bytes))
        })?;
        launch(kept.address())?;
        Ok(accumulator(&kept.read(words)?, n))
    }

    /// Writes flags and digits to the words at an address; [`RAW_WORDS`] gives the number of words
    /// for the result's type.
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
        let loaded = get_or_try(kept, || modules::load(self.queue(), T::KERNEL, T::CUT.threads))?;
        let call = call(loaded, input, output, epoch, (T::CUT, n, size));
        let run = |state: Option<Address<'_>>| {
            cuda::launch(loaded.function, self.queue().stream, call, state)
        };
        self.with_exact_state(call, size, run)
    }

    /// Calls a function with the state or, if there is only one block, without it.
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
        // If the caller waits for the result, it has checked that the stream is not being captured.
        if matches!(call.epoch, 0 | RAW) && stream.is_capturing()? {
            return cuda::with_captured_state(stream, STATE, run);
        }
        let state = get_or_try(&self.exact().state, || {
            cuda::outside_of_captures(|| State::new(self.queue(), STATE))
        })?;
        run(Some(state.address()))
    }
}

impl<T: ExactElement> Engine<T> {
    /// Computes the exact dot product of two inputs of the same length, and returns when it is complete.
    pub(crate) fn wait_dot(&self, a: Address<'_>, b: Address<'_>) -> Result<T::Output> {
        self.wait_for(|output, epoch| self.launch_dot(a, b, output, epoch))
    }

    /// Writes the exact dot product of two inputs of the same length to a third address.
    pub(crate) fn leave_dot(
        &self,
        a: Address<'_>,
        b: Address<'_>,
        output: Address<'_>,
    ) -> Result<()> {
        let _bound = self.queue().stream.bind()?;
        self.launch_dot(a, b, output, 0)
    }

    fn launch_dot(
        &self,
        a: Address<'_>,
        b: Address<'_>,
        output: Address<'_>,
        epoch: u32,
    ) -> Result<()> {
        let size = size_of::<T>() as u64;
        let load = || modules::load(self.queue(), T::DOT, T::DOT_CUT.threads);
        let loaded = get_or_try(&self.exact().dot, load)?;
        let call = call(loaded, a, output, epoch, (T::DOT_CUT, a.len(), size));
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
    (cut, n, size): (Cut, u64, u64),
) -> Call<'m> {
    let (chunks, vectors) = cut.chunks(n, size, loaded.blocks);
    let grid = chunks.min(loaded.blocks).min(MOST_BLOCKS);
    Call { grid, threads: cut.threads, input, output, vectors, chunks, epoch }
}
