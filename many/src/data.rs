//! Test elements. Each element is a function of its index, so every rank can generate its own
//! elements.

use std::{ops::Range, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream, DeviceRepr, ValidAsZeroBits};
use half::{bf16, f16};

use crate::{Result, cuda, error::doing, played::Bytes};

/// A type whose elements can be generated.
pub trait Datum: Bytes + DeviceRepr + ValidAsZeroBits {
    /// The name of the type in commands.
    const NAME: &'static str;

    /// Returns the element that 32 random bits determine.
    fn drawn(bits: u32) -> Self;
}

macro_rules! data {
    ($($type:ty, $name:literal, |$bits:ident| $drawn:expr;)+) => {$(
        impl Datum for $type {
            const NAME: &'static str = $name;

            fn drawn($bits: u32) -> Self {
                $drawn
            }
        }
    )+};
}

/// Returns a number of either sign, with a magnitude in a range of about five orders of magnitude.
/// A sum of such numbers depends on the order of the additions.
fn number(bits: u32) -> f64 {
    let scale = [0.001, 0.1, 1.0, 30.0][bits as usize % 4];
    (f64::from(bits >> 8) / 8_388_608.0 - 1.0) * scale
}

data! {
    f32, "f32", |bits| number(bits) as f32;
    f64, "f64", |bits| number(bits);
    i32, "i32", |bits| bits as i32;
    u32, "u32", |bits| bits;
    i64, "i64", |bits| i64::from(bits).wrapping_mul(0x5851_F42D_4C95_7F2D);
    u64, "u64", |bits| u64::from(bits).wrapping_mul(0x5851_F42D_4C95_7F2D);
    f16, "f16", |bits| f16::from_f64(number(bits));
    bf16, "bf16", |bits| bf16::from_f64(number(bits));
}

/// The period with which the elements repeat. The device copies the elements period by period,
/// because generating all of them on the host would take minutes. The period is not a multiple of
/// any chunk size.
const PERIOD: u64 = 4_194_301;

/// Generates the elements of all ranks.
#[derive(Clone, Copy, Debug)]
pub struct Data;

impl Data {
    /// Returns the element at an index.
    pub fn at<T: Datum>(place: u64) -> T {
        let mixed = (place % PERIOD).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        T::drawn((mixed >> 32) as u32)
    }

    /// Returns the elements in a range.
    pub fn of<T: Datum>(range: Range<u64>) -> Vec<T> {
        range.map(Data::at).collect()
    }

    /// Returns the elements in a range, on a device.
    pub fn on<T: Datum>(stream: &Arc<CudaStream>, range: Range<u64>) -> Result<CudaSlice<T>> {
        cuda::bind(stream)?;
        let n = range.end - range.start;
        let mut slice =
            stream.alloc_zeros::<T>(n as usize).map_err(doing("allocating elements"))?;
        let once = Data::of(range.start..range.end.min(range.start + PERIOD));
        let copying = || doing("copying elements to the device");
        if !once.is_empty() {
            let mut front = slice.slice_mut(..once.len());
            stream.memcpy_htod(&once, &mut front).map_err(copying())?;
        }
        let mut done = once.len();
        while 0 < done && done < slice.len() {
            // The number of elements copied so far is a multiple of the period, so each copy starts
            // at the beginning of a period.
            let (front, mut back) = slice.split_at_mut(done);
            let more = done.min(back.len());
            stream
                .memcpy_dtod(&front.slice(..more), &mut back.slice_mut(..more))
                .map_err(copying())?;
            done += more;
        }
        stream.synchronize().map_err(copying())?;
        Ok(slice)
    }
}
