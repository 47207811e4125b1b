//! Seeded input, which has the same bits on every machine, for any number of cores.

use std::{fmt, str::FromStr};

use crate::{Error, plan::Size};
use numbers::Scalar;
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use simt::parallel;

/// The kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Floats from 0 to 1, or integers from 0 to 255.
    Uniform,
    /// Integers from −100 to 99, in every element type.
    Int,
    /// Elements that are all 1.
    Ones,
    /// Floats from −1 to 1, or integers of any value, so that sums cancel.
    Signed,
    /// 1 at this index and 0 elsewhere, so that an element that is dropped or added twice is
    /// detected.
    OneHot(u64),
}

/// The number of elements from each stream of the generator.
const CHUNK: usize = 1 << 16;

impl Input {
    /// Draws `n` elements. Chunk k is drawn from stream k of a ChaCha8 generator with this seed.
    pub fn draw<T: Scalar>(self, n: u64, seed: u64) -> Result<Vec<T>, Error> {
        if let Input::OneHot(index) = self
            && index >= n
        {
            return Err(Error::Usage(format!(
                "`--input one-hot:{index}` names an element that does not exist, because `--n` is {n}: use an index below that, or a larger `--n`"
            )));
        }
        let mut values = room(n)?;
        values.resize(n as usize, T::ZERO);
        match self {
            Input::Ones => values.fill(T::ONE),
            Input::OneHot(index) => values[index as usize] = T::ONE,
            Input::Uniform => fill(&mut values, seed, T::uniform),
            Input::Int => fill(&mut values, seed, |rng| T::whole(rng.random_range(-100..100))),
            Input::Signed => fill(&mut values, seed, T::signed),
        }
        Ok(values)
    }
}

/// Allocates host memory for `n` elements. Fails if the system refuses the allocation.
pub(super) fn room<T: Scalar>(n: u64) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    match values.try_reserve_exact(usize::try_from(n).unwrap_or(usize::MAX)) {
        Ok(()) => Ok(values),
        Err(_) => Err(Error::Refused {
            what: format!("{n} {}", T::ELEMENT),
            needed: n.saturating_mul(T::ELEMENT.size()),
        }),
    }
}

fn fill<T: Scalar>(values: &mut [T], seed: u64, draw: fn(&mut ChaCha8Rng) -> T) {
    let chunks = values.chunks_mut(CHUNK).collect();
    parallel::map(
        0,
        chunks,
        || (),
        |(), chunk, values: &mut [T]| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(chunk as u64);
            T::fill(&mut rng, draw, values);
        },
    );
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Uniform => f.write_str("uniform"),
            Input::Int => f.write_str("int"),
            Input::Ones => f.write_str("ones"),
            Input::Signed => f.write_str("signed"),
            Input::OneHot(index) => write!(f, "one-hot:{index}"),
        }
    }
}

impl FromStr for Input {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "uniform" => Ok(Input::Uniform),
            "int" => Ok(Input::Int),
            "ones" => Ok(Input::Ones),
            "signed" => Ok(Input::Signed),
            _ => match text.strip_prefix("one-hot:").map(str::parse::<Size>) {
                Some(index) => Ok(Input::OneHot(index.map_err(Error::Usage)?.0)),
                None => Err(Error::Usage(format!(
                    "`{text}` is not an input: use uniform, int, ones, signed or one-hot:INDEX"
                ))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bits() {
        let a: Vec<f32> = Input::Uniform.draw(200_000, 42).unwrap();
        let b: Vec<f32> = Input::Uniform.draw(200_000, 42).unwrap();
        let c: Vec<f32> = Input::Uniform.draw(200_000, 43).unwrap();
        assert_eq!(a, b);
        assert_ne!(a, c);
        // A longer input starts with the shorter one, and its chunks differ from each other.
        let longer: Vec<f32> = Input::Uniform.draw(300_000, 42).unwrap();
        assert_eq!(a, longer[..200_000]);
        assert_ne!(a[..1000], a[CHUNK..CHUNK + 1000]);
    }

    #[test]
    fn the_bits_are_those_of_the_results() {
        let floats: Vec<f32> = Input::Uniform.draw(3, 42).unwrap();
        let integers: Vec<i32> = Input::Uniform.draw(3, 42).unwrap();
        // The test pins these values, because changing them would change every committed sum.
        assert_eq!(floats, [0.22408074, 0.68189615, 0.1463862]);
        assert_eq!(integers, [57, 174, 37]);
    }

    #[test]
    fn inputs_are_in_their_range() {
        let uniform: Vec<f64> = Input::Uniform.draw(10_000, 1).unwrap();
        assert!(uniform.iter().all(|v| (0.0..1.0).contains(v)));
        let signed: Vec<f32> = Input::Signed.draw(10_000, 1).unwrap();
        assert!(signed.iter().all(|v| (-1.0..=1.0).contains(v)) && signed.iter().any(|v| *v < 0.0));
        let bytes: Vec<i32> = Input::Uniform.draw(10_000, 1).unwrap();
        assert!(bytes.iter().all(|v| (0..256).contains(v)));
        let whole: Vec<i32> = Input::Int.draw(10_000, 1).unwrap();
        assert_eq!((whole.iter().min(), whole.iter().max()), (Some(&-100), Some(&99)));
        let floats: Vec<f32> = Input::Int.draw(10_000, 1).unwrap();
        assert!(floats.iter().zip(&whole).all(|(float, whole)| *float == *whole as f32));
    }

    #[test]
    fn one_hot_is_hot_once() {
        let values: Vec<i32> = Input::OneHot(7).draw(100, 0).unwrap();
        assert_eq!(values.iter().sum::<i32>(), 1);
        assert_eq!(values[7], 1);
        assert!(
            Input::OneHot(100)
                .draw::<i32>(100, 0)
                .unwrap_err()
                .to_string()
                .contains("does not exist, because")
        );
        assert!(Input::OneHot(0).draw::<i32>(0, 0).is_err());
    }

    #[test]
    fn inputs_are_read_as_they_are_written() {
        for input in
            [Input::Uniform, Input::Int, Input::Ones, Input::Signed, Input::OneHot(1 << 20)]
        {
            assert_eq!(input.to_string().parse::<Input>().unwrap(), input);
        }
        assert_eq!("one-hot:2^4".parse::<Input>().unwrap(), Input::OneHot(16));
        assert!("zeros".parse::<Input>().is_err());
    }

    #[test]
    fn more_than_the_host_has_is_refused() {
        for n in [1 << 61, u64::MAX] {
            let error = Input::Ones.draw::<f64>(n, 0).unwrap_err();
            assert!(matches!(&error, Error::Refused { what, .. } if *what == format!("{n} f64")));
        }
    }
}
