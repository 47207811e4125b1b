//! A bit set that marks the initialized bytes of memory.

/// A set of bytes, with one bit for each byte.
#[derive(Debug, Clone, Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(bytes: u64) -> Bits {
        Bits(vec![0; bytes.div_ceil(64) as usize])
    }

    pub(super) fn set(&mut self, from: u64, bytes: u64) {
        for_words(from, bytes, |word, mask| {
            if let Some(w) = self.0.get_mut(word as usize) {
                *w |= mask;
            }
        });
    }

    pub(super) fn clear(&mut self, from: u64, bytes: u64) {
        for_words(from, bytes, |word, mask| {
            if let Some(w) = self.0.get_mut(word as usize) {
                *w &= !mask;
            }
        });
    }

    /// Resizes the set to `bytes` bytes, and clears all bits.
    pub(super) fn reset(&mut self, bytes: u64) {
        self.0.clear();
        self.0.resize(bytes.div_ceil(64) as usize, 0);
    }

    /// Returns a 64-bit word of bits; 0 if the index is out of range.
    pub(super) fn word(&self, word: u64) -> u64 {
        self.0.get(word as usize).copied().unwrap_or(0)
    }

    /// Sets the bits of `mask` in a 64-bit word. Has no effect if the index is out of range.
    pub(super) fn set_word(&mut self, word: u64, mask: u64) {
        if let Some(w) = self.0.get_mut(word as usize) {
            *w |= mask;
        }
    }

    /// Creates a set with all bytes marked, for memory that is known to be initialized.
    pub(super) fn full(bytes: u64) -> Bits {
        Bits(vec![u64::MAX; bytes.div_ceil(64) as usize])
    }

    /// Returns the first byte of a range that is not marked.
    pub(super) fn first_clear(&self, from: u64, bytes: u64) -> Option<u64> {
        let mut clear = None;
        for_words(from, bytes, |word, mask| {
            let missing = mask & !self.0.get(word as usize).copied().unwrap_or(0);
            if missing != 0 && clear.is_none() {
                clear = Some(word * 64 + u64::from(missing.trailing_zeros()));
            }
        });
        clear
    }
}

/// Calls `f` with the index of each 64-bit word that a range of bits overlaps, and with a mask of
/// the bits of that word that are in the range.
#[inline]
pub(super) fn for_words(from: u64, bytes: u64, mut f: impl FnMut(u64, u64)) {
    let (mut at, end) = (from, from + bytes);
    while at < end {
        let stop = end.min((at | 63) + 1);
        let mask = (u64::MAX >> (64 - (stop - at))) << (at % 64);
        f(at / 64, mask);
        at = stop;
    }
}

/// Iterates over the lanes of a mask, in increasing order.
#[inline]
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        (lane < 32).then(|| {
            mask &= mask - 1;
            lane
        })
    })
}
