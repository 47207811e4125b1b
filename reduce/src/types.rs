//! The instructions with which a device reads and combines elements, where they depend on the type
//! and not on the operation.

use crate::texts::{E1A8, E2A4, E2A8, E4A4, E4A8, E8A8, P2A4, Texts};

/// An element type, and the types in which the elements are combined.
#[derive(Debug)]
pub struct Types {
    /// The part of a kernel's name that stands for the type.
    pub(crate) name: &'static str,
    pub(crate) texts: &'static Texts,
    /// The templates for operations that combine pairs of halves, and the PTX type of a half.
    pub(crate) pairs: Option<(&'static Texts, &'static str)>,
    /// The PTX type of a thread's accumulators.
    pub(crate) local: &'static str,
    /// The PTX type of the values that threads and blocks exchange.
    pub(crate) value: &'static str,
    /// Converts an element `$1` to the accumulator `$0`. Empty if both have the same type.
    pub(crate) widen: &'static str,
    /// Converts an accumulator `$1` to a value `$0`.
    pub(crate) convert: &'static str,
    /// The largest and the smallest value of the type.
    pub(crate) extremes: [&'static str; 2],
    /// The bits of NaN, for floats.
    pub(crate) nan: Option<&'static str>,
    /// The bits of elements that leave every minimum unchanged, and of elements that leave every
    /// maximum unchanged: 64 bits for elements of eight bytes, and otherwise 32.
    pub(crate) blanks: [&'static str; 2],
}

/// The fields that types of four bytes share.
const WORD: Types = Types {
    name: "",
    texts: &E4A4,
    pairs: None,
    local: "",
    value: "",
    widen: "",
    convert: "mov.b32 $0, $1;",
    extremes: [""; 2],
    nan: None,
    blanks: [""; 2],
};
const DOUBLE: Types = Types { texts: &E8A8, convert: "mov.b64 $0, $1;", ..WORD };
const SMALL: Types =
    Types { texts: &E1A8, local: "s32", value: "s64", convert: "cvt.s64.s32 $0, $1;", ..WORD };

pub(crate) static F32: Types = Types {
    name: "f32",
    local: "f32",
    value: "f32",
    extremes: ["0x7f800000", "0xff800000"],
    nan: Some("0x7fffffff"),
    blanks: ["0x7fffffff"; 2],
    ..WORD
};
pub(crate) static F64: Types = Types {
    name: "f64",
    local: "f64",
    value: "f64",
    extremes: ["0x7ff0000000000000", "0xfff0000000000000"],
    nan: Some("0x7fffffffffffffff"),
    blanks: ["0x7fffffffffffffff"; 2],
    ..DOUBLE
};
pub(crate) static F16: Types = Types {
    name: "f16",
    texts: &E2A4,
    pairs: Some((&P2A4, "f16")),
    widen: "cvt.f32.f16 $0, $1;",
    blanks: ["0x7fff7fff"; 2],
    ..F32
};
pub(crate) static BF16: Types = Types {
    name: "bf16",
    pairs: Some((&P2A4, "bf16")),
    widen: "{ .reg .b16 z; mov.b16 z, 0; mov.b32 $0, {z, $1}; }",
    ..F16
};
pub(crate) static I32: Types = Types {
    name: "i32",
    local: "s32",
    value: "s32",
    extremes: ["0x7fffffff", "0x80000000"],
    blanks: ["0x7fffffff", "0x80000000"],
    ..WORD
};
pub(crate) static U32: Types = Types {
    name: "u32",
    local: "u32",
    value: "u32",
    extremes: ["0xffffffff", "0"],
    blanks: ["0xffffffff", "0"],
    ..WORD
};
pub(crate) static I64: Types = Types {
    name: "i64",
    local: "s64",
    value: "s64",
    extremes: ["0x7fffffffffffffff", "0x8000000000000000"],
    blanks: ["0x7fffffffffffffff", "0x8000000000000000"],
    ..DOUBLE
};
pub(crate) static U64: Types = Types {
    name: "u64",
    local: "u64",
    value: "u64",
    extremes: ["0xffffffffffffffff", "0"],
    blanks: ["0xffffffffffffffff", "0"],
    ..DOUBLE
};
pub(crate) static I8: Types = Types {
    name: "i8",
    widen: "cvt.s32.s8 $0, $1;",
    extremes: ["127", "-128"],
    blanks: ["0x7f7f7f7f", "0x80808080"],
    ..SMALL
};
pub(crate) static U8: Types =
    Types { name: "u8", extremes: ["255", "0"], blanks: ["0xffffffff", "0"], ..SMALL };
/// Every byte other than 0 is true.
pub(crate) static BOOL: Types = Types {
    name: "bool",
    widen: "{ .reg .pred true; setp.ne.u32 true, $1, 0; selp.b32 $0, 1, 0, true; }",
    extremes: ["1", "0"],
    blanks: ["0x01010101", "0"],
    ..SMALL
};
pub(crate) static I16: Types = Types {
    name: "i16",
    texts: &E2A8,
    widen: "cvt.s32.s16 $0, $1;",
    extremes: ["32767", "-32768"],
    blanks: ["0x7fff7fff", "0x80008000"],
    ..SMALL
};
pub(crate) static U16: Types = Types {
    name: "u16",
    texts: &E2A8,
    widen: "cvt.u32.u16 $0, $1;",
    extremes: ["65535", "0"],
    blanks: ["0xffffffff", "0"],
    convert: "cvt.s64.u32 $0, $1;",
    ..SMALL
};

/// `f32`, combined as `f64`.
pub(crate) static WIDE_F32: Types = Types {
    name: "f32_as_f64",
    texts: &E4A8,
    widen: "cvt.f64.f32 $0, $1;",
    blanks: ["0x7fffffff"; 2],
    ..F64
};
/// `i32`, combined as `i64`.
pub(crate) static WIDE_I32: Types = Types {
    name: "i32_as_i64",
    texts: &E4A8,
    widen: "cvt.s64.s32 $0, $1;",
    extremes: ["2147483647", "-2147483648"],
    blanks: ["0x7fffffff", "0x80000000"],
    ..I64
};
/// `u32`, combined as `u64`.
pub(crate) static WIDE_U32: Types = Types {
    name: "u32_as_u64",
    texts: &E4A8,
    widen: "cvt.u64.u32 $0, $1;",
    extremes: ["4294967295", "0"],
    blanks: ["0xffffffff", "0"],
    ..U64
};

/// The type of elements that are read as 1 if they are not zero, and otherwise as 0. The neutral
/// element of a maximum is zero, and that of a minimum is nonzero. Bytes are read like `bool`.
const TRUE: Types = Types { extremes: ["1", "0"], blanks: ["0x01010101", "0"], ..SMALL };
/// A 16-bit integer, read as 1 if it is not zero.
pub(crate) static TRUE_16: Types = Types {
    name: "nonzero_16",
    texts: &E2A8,
    widen: "{ .reg .pred true; setp.ne.u16 true, $1, 0; selp.b32 $0, 1, 0, true; }",
    ..TRUE
};
/// A half, read as 1 if it is not zero. In +0 and -0, all bits except the sign are 0.
pub(crate) static TRUE_HALF: Types = Types {
    name: "nonzero_half",
    widen: "{ .reg .pred true; .reg .b16 bits; and.b16 bits, $1, 0x7fff; setp.ne.u16 true, bits, 0; \
            selp.b32 $0, 1, 0, true; }",
    ..TRUE_16
};
/// A 32-bit integer, read as 1 if it is not zero.
pub(crate) static TRUE_32: Types = Types {
    name: "nonzero_32",
    texts: &E4A8,
    local: "s64",
    convert: "mov.b64 $0, $1;",
    widen: "{ .reg .pred true; setp.ne.u32 true, $1, 0; selp.b64 $0, 1, 0, true; }",
    ..TRUE
};
/// An `f32`, read as 1 if it is not zero.
pub(crate) static TRUE_F32: Types = Types {
    name: "nonzero_f32",
    widen: "{ .reg .pred true; setp.neu.f32 true, $1, 0f00000000; selp.b64 $0, 1, 0, true; }",
    ..TRUE_32
};
/// A 64-bit integer, read as 1 if it is not zero.
pub(crate) static TRUE_64: Types = Types {
    name: "nonzero_64",
    texts: &E8A8,
    blanks: ["1", "0"],
    widen: "{ .reg .pred true; setp.ne.u64 true, $1, 0; selp.b64 $0, 1, 0, true; }",
    ..TRUE_32
};
/// An `f64`, read as 1 if it is not zero.
pub(crate) static TRUE_F64: Types = Types {
    name: "nonzero_f64",
    widen: "{ .reg .pred true; setp.neu.f64 true, $1, 0d0000000000000000; selp.b64 $0, 1, 0, true; }",
    ..TRUE_64
};
