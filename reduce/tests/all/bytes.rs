//! Converts elements to bytes, for the interpreter.

/// An element type that can be converted to its bytes in memory.
pub(crate) trait Bytes {
    fn bytes(self) -> Vec<u8>;
}

macro_rules! bytes {
    ($($type:ty)+) => {$(
        impl Bytes for $type {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )+};
}
bytes! { f32 f64 i8 u8 i16 u16 i32 u32 i64 u64 half::f16 half::bf16 }

impl Bytes for bool {
    fn bytes(self) -> Vec<u8> {
        vec![self.into()]
    }
}
