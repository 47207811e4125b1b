//! Draws the input of a kernel: random numbers whose sums are never rounded.
//!
//! Each number is a multiple of a unit, which is a power of two. The factor of the unit has so few
//! bits that every partial sum of every tree is exact. Therefore the judge needs no tolerance,
//! which could hide a missing element or reject a correct kernel. In `double`, the numbers are
//! neither integers nor `float` values, so a sum in another type is detected.

use std::ops::Range;

use numbers::{Element, mixed};

use crate::task::Operation;

/// The elements of an input.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    pub(crate) element: Element,
    /// The elements as multiples of the unit; [`NAN`] stands for NaN. Empty if `listed` contains
    /// the elements.
    units: Vec<i64>,
    /// The elements themselves, if they are not multiples of a unit.
    listed: Vec<f64>,
}

/// Returns the position of the largest element of a tile.
fn peak(seed: u64, tile: u64, elements: u64) -> u64 {
    let part = (elements / 32).max(1);
    (tile % 32 * part + mixed(seed ^ !tile) % part) % elements
}

/// The number of units that stands for NaN.
const NAN: i64 = i64::MIN;

/// The kinds of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draw {
    /// Numbers of both signs.
    Signed,
    /// Negative numbers.
    Negative,
    /// Negative numbers. If the type has NaN, one element in eight is NaN: a kernel that replaces
    /// NaN with 0 gives a wrong maximum.
    SomeNan,
    /// Negative numbers, with one exception per tile of this size. Tiles are divided into 32
    /// sections, and the exception lies in a different section of each tile, so a kernel that omits
    /// a warp misses the maximum.
    Peaks(u64),
    /// Zeros, the smallest `int`, and large powers of two.
    Marks,
    /// NaN, minus infinity and the lowest number. Most runs of 64 elements also contain a single
    /// larger element: a zero of either sign, the smallest or the largest number of either sign, or
    /// infinity.
    Special,
}

impl Values {
    /// Draws n elements, none of them zero.
    pub(crate) fn draw(element: Element, n: u64, seed: u64, draw: Draw) -> Values {
        if draw == Draw::Special {
            return Values { element, units: Vec::new(), listed: special(element, n, mixed(seed)) };
        }
        let bits = match element {
            Element::I32 => 31,
            Element::F32 => 22 - n.max(1).ilog2(),
            Element::F64 => 50 - n.max(1).ilog2(),
        };
        Values::of_bits(bits, element, n, seed, draw)
    }

    /// Draws n elements whose sums are rounded. The second half contains the negated numbers of the
    /// first half in another order, so that the sum consists of rounding errors.
    pub(crate) fn rounded(element: Element, n: u64, seed: u64) -> Values {
        let bits = if element == Element::F64 { 53 } else { 24 };
        let mut values = Values::of_bits(bits, element, n, seed, Draw::Signed);
        let half = n as usize / 2;
        for place in 0..half {
            values.units[half + place] = -values.units[(place * 7919 + 3) % half];
        }
        values
    }

    fn of_bits(bits: u32, element: Element, n: u64, seed: u64, draw: Draw) -> Values {
        let seed = mixed(seed);
        let unit = |place: u64| {
            let random = mixed(seed ^ place);
            let size = 1 + ((random >> 8) & ((1 << bits) - 2)) as i64;
            match draw {
                Draw::SomeNan if element != Element::I32 && random & 0xe0 == 0 => NAN,
                Draw::Negative | Draw::SomeNan | Draw::Special => -size,
                Draw::Peaks(tile) if place % tile == peak(seed, place / tile, tile) => size,
                Draw::Peaks(_) => -size,
                // No sum is -1, because its bits equal those of memory that was never written.
                Draw::Marks if element == Element::I32 => {
                    [0, i64::from(i32::MIN), 1 << 30][(random >> 8) as usize % 3]
                }
                // All sums of a few such numbers are exact.
                Draw::Marks => {
                    let mark = [0.0, -2f64.powi(31), 2f64.powi(31)][(random >> 8) as usize % 3];
                    (mark / unit(element)) as i64
                }
                _ if random & 1 == 0 => -size,
                _ => size,
            }
        };
        Values { element, units: (0..n).map(unit).collect(), listed: Vec::new() }
    }

    /// Returns the elements as bytes in memory.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        if !self.listed.is_empty() {
            return bytes(self.element, &self.listed);
        }
        let value = |&units: &i64| if units == NAN { f64::NAN } else { self.value(units) };
        bytes(self.element, &self.units.iter().map(value).collect::<Vec<f64>>())
    }

    /// Returns the exact result of an operation on a range of elements. If the operation has two
    /// results, `second` selects the maximum instead of the sum.
    pub(crate) fn result(&self, range: Range<usize>, operation: Operation, second: bool) -> f64 {
        if !self.listed.is_empty() {
            let numbers = self.listed[range].iter().filter(|x| !x.is_nan());
            return numbers.copied().reduce(f64::max).unwrap_or(lowest(self.element));
        }
        let of = &self.units[range];
        match operation {
            Operation::Sum => self.sum(of),
            Operation::SumAndMax if !second => self.sum(of),
            _ => of
                .iter()
                .filter(|u| **u != NAN)
                .max()
                .map_or(lowest(self.element), |u| self.value(*u)),
        }
    }

    fn sum(&self, of: &[i64]) -> f64 {
        self.wrapped(of.iter().fold(0, |sum, u| sum.wrapping_add(*u)))
    }

    /// Returns a sum in the element type; integers wrap.
    fn wrapped(&self, units: i64) -> f64 {
        self.value(if self.element == Element::I32 { i64::from(units as i32) } else { units })
    }

    fn value(&self, units: i64) -> f64 {
        units as f64 * unit(self.element)
    }

    /// Describes the possible causes of a wrong sum, the likeliest kind first. If the elements have
    /// few bits, a wrong sum may have several possible causes of one kind.
    pub(crate) fn looks(&self, range: Range<usize>, given: f64) -> Vec<Vec<String>> {
        let (from, of) = (range.start, &self.units[range.clone()]);
        let right = (self.sum(of) / unit(self.element)) as i64;
        let repeated = vec![self.repeated(from, of, given).into_iter().collect()];
        if of.len() < 2 {
            return repeated;
        }
        let each = |said: fn(usize) -> String, sum: &dyn Fn(i64) -> i64| {
            let matching = |(_, u): &(usize, &i64)| self.wrapped(sum(**u)) == given;
            (from..).zip(of).filter(matching).map(|(at, _)| said(at)).collect::<Vec<String>>()
        };
        let mut sum = 0i64;
        let mut first = Vec::new();
        for (at, units) in of.iter().enumerate() {
            sum = sum.wrapping_add(*units);
            if self.wrapped(sum) == given && at > 0 && at + 1 < of.len() {
                let to = from + at;
                first.push(format!("that is the sum of the elements {from} to {to} alone"));
            }
        }
        let none =
            if given == 0.0 { vec!["that is the sum of no elements".into()] } else { vec![] };
        let one = [
            each(|at| format!("that is element {at} alone"), &|u| u),
            each(|at| format!("as if element {at} were left out"), &|u| right - u),
            each(|at| format!("as if element {at} were added twice"), &|u| right + u),
            first,
            none,
        ];
        one.into_iter().chain(repeated).collect()
    }

    /// If the range is short, finds an element that was added three times or more, for example once
    /// by every block.
    fn repeated(&self, from: usize, of: &[i64], given: f64) -> Option<String> {
        // Only a few candidates are tried, so a match is unlikely to be a coincidence.
        let most = 512 / of.len().max(1) as i64;
        let right = (self.sum(of) / unit(self.element)) as i64;
        (from..).zip(of).find_map(|(at, units)| {
            let times = (3..=most).find(|k| self.wrapped(right + (k - 1) * units) == given)?;
            Some(format!("as if element {at} were added {times} times"))
        })
    }
}

/// Converts elements to their bytes in memory.
pub(crate) fn bytes(element: Element, of: &[f64]) -> Vec<u8> {
    match element {
        Element::I32 => of.iter().flat_map(|x| (*x as i32).to_le_bytes()).collect(),
        Element::F32 => (0..).zip(of).flat_map(|(at, x)| word(at, *x).to_le_bytes()).collect(),
        Element::F64 => (0..).zip(of).flat_map(|(at, x)| double(at, *x).to_le_bytes()).collect(),
    }
}

/// Returns the bits of a `float`. NaN has different bits at each place, some of them signalling.
fn word(at: u64, value: f64) -> u32 {
    let payload = mixed(at) as u32 & 0x807f_ffff | 1;
    if value.is_nan() { 0x7f80_0000 | payload } else { (value as f32).to_bits() }
}

/// Like [`word`], for a `double`.
fn double(at: u64, value: f64) -> u64 {
    let payload = mixed(at) & 0x800f_ffff_ffff_ffff | 1;
    if value.is_nan() { 0x7ff0 << 48 | payload } else { value.to_bits() }
}

/// Returns the elements of [`Draw::Special`].
fn special(element: Element, n: u64, seed: u64) -> Vec<f64> {
    let (floor, peaks): (Vec<f64>, Vec<f64>) = match element {
        Element::I32 => (
            vec![f64::from(i32::MIN), f64::from(i32::MIN + 1)],
            // -1 is left out, because its bits equal those of memory that was never written.
            vec![-2.0, 0.0, 1.0, f64::from(i32::MAX), f64::from(i32::MIN + 1)],
        ),
        _ => {
            let (most, least) = match element {
                Element::F32 => (f64::from(f32::MAX), f64::from(f32::from_bits(1))),
                _ => (f64::MAX, f64::from_bits(1)),
            };
            (
                vec![f64::NAN, f64::NEG_INFINITY, -most],
                vec![-least, -0.0, 0.0, least, most, f64::INFINITY, -most, -1.0],
            )
        }
    };
    let at = |place: u64| {
        let run = mixed(seed ^ !(place / 64));
        // A run of 64 elements consists only of NaN, consists only of the lowest value, or has one
        // peak.
        let kind = run % 8;
        let random = mixed(seed ^ place) as usize;
        if kind > 2 && place % 64 == run >> 8 & 63 {
            return peaks[(run >> 16) as usize % peaks.len()];
        }
        if (kind as usize) < floor.len() {
            floor[kind as usize]
        } else {
            floor[random % floor.len()]
        }
    };
    let whole = mixed(seed) % 4;
    // In some inputs all elements are equal, so that the elements of each block are equal too.
    let same = |place: u64| {
        if (whole as usize) < floor.len() && n > 64 && seed & 1 == 0 {
            floor[whole as usize]
        } else {
            at(place)
        }
    };
    (0..n).map(same).collect()
}

/// Returns numbers whose exponents differ widely, and their bytes. The element type represents each
/// number exactly.
pub(crate) fn magnitude(element: Element, n: u64, seed: u64) -> (Vec<f64>, Vec<u8>) {
    spread(element, n, seed, if element == Element::F32 { 200 } else { 1600 })
}

/// Returns numbers whose exponents differ by up to `spread`, and their bytes.
fn spread(element: Element, n: u64, seed: u64, spread: i32) -> (Vec<f64>, Vec<u8>) {
    let number = |place: u64| {
        let random = mixed(seed ^ place ^ n << 32);
        let exponent = (random >> 32) as i32 % (spread + 1);
        let exponent = exponent.abs() - spread / 2;
        let fraction = 1.0 + (random & 0xff_ffff) as f64 / f64::from(1 << 24);
        let value = fraction * 2f64.powi(exponent) * if random >> 31 & 1 == 0 { 1.0 } else { -1.0 };
        if element == Element::F32 { f64::from(value as f32) } else { value }
    };
    let numbers: Vec<f64> = (0..n).map(number).collect();
    let bytes = bytes(element, &numbers);
    (numbers, bytes)
}

/// Returns the bytes of numbers whose exponents differ widely, and of which the large ones cancel.
/// The rounding errors of their sums show the order of the additions, even if the additions are more
/// precise than the type.
pub(crate) fn cancelling(element: Element, n: u64, seed: u64) -> Vec<u8> {
    let (mut numbers, _) = magnitude(element, n, seed);
    let half = n as usize / 2;
    for place in 0..half {
        numbers[half + place] = -numbers[(place * 7919 + 3) % half];
    }
    bytes(element, &numbers)
}

/// Returns the bytes of zeros and four groups of eight numbers of similar magnitude. The numbers of
/// a group lie in tiles of 1024 elements that are `stride` tiles apart. If each block adds every
/// 250th tile, each of these blocks has one number, so only the order in which the sums of blocks
/// are added changes the result.
pub(crate) fn sparse(element: Element, n: u64, seed: u64, stride: u64) -> Vec<u8> {
    let (some, _) = spread(element, 32, seed, 4);
    let mut numbers = vec![0.0; n as usize];
    for (k, number) in (0..).zip(some) {
        let tile = seed % 8 + k / 8 * 5 + k % 8 * stride;
        // In every other group, two large numbers cancel, which shows the order of the additions
        // even if they are made in a longer type.
        let large = 2f64.powi(100);
        numbers[(1024 * tile + seed % 1000) as usize] = match k % 16 {
            8 => large,
            12 => -large,
            _ => number,
        };
    }
    bytes(element, &numbers)
}

/// Returns subnormal numbers, and their bytes. All their sums are exact.
pub(crate) fn subnormal(element: Element, n: u64, seed: u64) -> (Vec<f64>, Vec<u8>) {
    let least = match element {
        Element::F32 => f64::from(f32::from_bits(1)),
        _ => f64::from_bits(1),
    };
    let number = |place: u64| {
        let random = mixed(seed ^ place << 20);
        let size = (1 + random % 1000) as f64 * least;
        if random >> 63 == 0 { size } else { -size }
    };
    let numbers: Vec<f64> = (0..n).map(number).collect();
    let bytes = bytes(element, &numbers);
    (numbers, bytes)
}

/// Returns the unit of an element type.
fn unit(element: Element) -> f64 {
    match element {
        Element::I32 => 1.0,
        Element::F32 => 1.0 / 64.0,
        Element::F64 => 1.0 / f64::from(1 << 20),
    }
}

/// Returns the maximum over no elements.
pub(crate) fn lowest(element: Element) -> f64 {
    match element {
        Element::I32 => f64::from(i32::MIN),
        _ => f64::NEG_INFINITY,
    }
}

/// Converts elements in memory to doubles, which represent all of them exactly.
pub(crate) fn read(element: Element, bytes: &[u8]) -> Vec<f64> {
    let four = |b: &[u8]| [b[0], b[1], b[2], b[3]];
    match element {
        Element::I32 => {
            bytes.chunks_exact(4).map(|b| f64::from(i32::from_le_bytes(four(b)))).collect()
        }
        Element::F32 => {
            bytes.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes(four(b)))).collect()
        }
        Element::F64 => {
            let eight =
                |b: &[u8]| f64::from_bits(u64::from_le_bytes(b.try_into().unwrap_or_default()));
            bytes.chunks_exact(8).map(eight).collect()
        }
    }
}

/// Formats a value of a type for messages.
pub(crate) fn shown(element: Element, value: f64) -> String {
    match element {
        Element::F32 => (value as f32).to_string(),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sum_rounds_and_no_element_is_zero() {
        for n in [1, 3, 257, 4099, 1 << 16] {
            let values = Values::draw(Element::F32, n, 7, Draw::Signed);
            assert!(values.units.iter().all(|u| *u != 0));
            let all: i64 = values.units.iter().map(|u| u.abs()).sum();
            assert!(all < 1 << 24, "{n}: {all}");
            let floats = read(Element::F32, &values.bytes());
            let sum = floats.iter().fold(0.0f32, |sum, value| sum + *value as f32);
            assert_eq!(f64::from(sum), values.result(0..n as usize, Operation::Sum, false));
            let doubles = Values::draw(Element::F64, n, 7, Draw::Signed);
            let sum: f64 = read(Element::F64, &doubles.bytes()).iter().sum();
            assert_eq!(sum, doubles.result(0..n as usize, Operation::Sum, false));
        }
    }

    #[test]
    fn another_seed_gives_other_numbers_and_doubles_are_not_floats() {
        let of = |seed| Values::draw(Element::F64, 100, seed, Draw::Signed).bytes();
        assert_ne!(of(1), of(2));
        let doubles = read(Element::F64, &of(1));
        assert!(doubles.iter().filter(|d| f64::from(**d as f32) != **d).count() > 90);
        let floats = read(Element::F32, &Values::draw(Element::F32, 100, 1, Draw::Signed).bytes());
        assert!(floats.iter().filter(|f| f.fract() != 0.0).count() > 90);
    }

    #[test]
    fn the_likely_cause_of_a_wrong_sum_is_described() {
        for element in Element::ALL {
            let values = Values::draw(element, 300, 3, Draw::Signed);
            let sum = |range: Range<usize>| values.result(range, Operation::Sum, false);
            let wrapped = |sum: f64| match element {
                Element::I32 => f64::from(sum as i64 as i32),
                _ => sum,
            };
            let likeliest = |n, given| {
                values.looks(0..n, given).into_iter().flatten().next().unwrap_or_default()
            };
            let looks = |given| likeliest(256, given);
            assert_eq!(looks(sum(1..256)), "as if element 0 were left out");
            assert_eq!(looks(sum(0..1)), "that is element 0 alone");
            assert_eq!(looks(sum(0..100)), "that is the sum of the elements 0 to 99 alone");
            assert_eq!(looks(0.0), "that is the sum of no elements");
            assert_eq!(looks(sum(5..250)), "");
            assert_eq!(looks(wrapped(sum(0..256) + sum(7..8))), "as if element 7 were added twice");
            let looks = likeliest;
            let three = wrapped(3.0 * sum(0..1));
            assert_eq!(looks(1, three), "as if element 0 were added 3 times");
            let eight = wrapped(sum(0..33) + 7.0 * sum(32..33));
            assert_eq!(looks(33, eight), "as if element 32 were added 8 times");
            assert_eq!(looks(1, 0.5 * sum(0..1)), "");
        }
    }

    #[test]
    fn the_maximum_ignores_nan() {
        let values = Values::draw(Element::F32, 200, 5, Draw::SomeNan);
        assert!(read(Element::F32, &values.bytes()).iter().any(|v| v.is_nan()));
        let most = values.result(0..200, Operation::Max, false);
        assert!(most.is_finite() && most < 0.0, "{most}");
        assert_eq!(values.result(0..0, Operation::Max, false), f64::NEG_INFINITY);
        let peaks = Values::draw(Element::F32, 64 * 32, 5, Draw::Peaks(64));
        for tile in 0..32 {
            let above = |at: &usize| peaks.result(*at..at + 1, Operation::Max, false) > 0.0;
            let found: Vec<usize> = (64 * tile..64 * (tile + 1)).filter(above).collect();
            assert!(found.len() == 1 && found[0] % 64 / 2 == tile, "{tile}: {found:?}");
        }
        let negative = Values::draw(Element::I32, 200, 5, Draw::Negative);
        assert!(negative.result(0..200, Operation::Max, false) < 0.0);
    }
}
