//! Joins the PTX template of a shape with the instructions of an operation.
//!
//! A line of a template that begins with the name of a placeholder, such as `JOIN %r1, %r2, %r3;`,
//! is replaced by the placeholder's instructions, in which `$0` to `$3` are its operands. A
//! line of a placeholder's instructions may be another placeholder.

use crate::{
    operate::{Instructions, Neutral, Operate},
    operations::Max,
    types::Types,
};

/// The name of a placeholder, and its instructions.
type Place = (&'static str, String);

/// The name of the entry point in a template.
const ENTRY: &str = "KERNEL";

/// The initial values of accumulators of eight and of four bytes in a template.
const STARTS: [&str; 2] = ["6004496033622802772", "1398030676"];

/// The constants that stand for a neutral element in a template: the constant of an element of
/// eight bytes, its upper half, and its lower half. An element of four bytes has the constant of
/// the lower half.
const BLANKS: [&str; 3] = ["6004515824832105551", "1398035284", "1398033487"];

/// Returns the kernel of an operation for a type. `modern` is true if the device has compute
/// capability 8 or newer. If `pairs` is given, the template combines pairs of halves of this PTX
/// type.
pub(crate) fn join(
    text: &str,
    name: &str,
    (operation, types): (&Instructions, &Types),
    pairs: Option<&str>,
    modern: bool,
) -> String {
    let redux = operation.redux.filter(|_| modern && matches!(types.value, "s32" | "u32"));
    let mut places = places(operation, types, redux);
    let mut start = neutral(operation.neutral, types);
    if let (Some(half), Some(pair)) = (pairs, operation.pairs) {
        // Each thread accumulates pairs, and converts its pairs once, at the end.
        let unpacked = "{ .reg .b16 low, high; .reg .b32 one, two; mov.b32 {low, high}, $1;";
        let [one, two] = [("one", "low"), ("two", "high")]
            .map(|(wide, narrow)| types.widen.replace("$0", wide).replace("$1", narrow));
        start = neutral_of_elements(operation.neutral, types);
        replace(&mut places, "ADD", pair.replace("$t", half));
        replace(&mut places, "VALUE", format!("{unpacked} {one} {two}\nJOIN $0, one, two;\n}}"));
    }
    if text.contains("OTHER_") {
        places.extend(others(types));
    }
    let mut text = text.replace(ENTRY, name);
    let blank = neutral_of_elements(operation.neutral, types);
    let bits = number(blank);
    let blanks = [bits, bits >> 32, bits & 0xffff_ffff].map(|bits| bits.to_string());
    for from in STARTS {
        text = text.replace(from, start);
    }
    for (from, to) in BLANKS.iter().zip(blanks) {
        text = text.replace(from, &to);
    }
    // With six resident blocks, only the kernels for 64-bit integers would spill registers.
    if types.nan.is_none() && types.value.ends_with("64") {
        text = text.replace(".minnctapersm 6", ".minnctapersm 4");
    }
    let mut joined = String::with_capacity(2 * text.len());
    for line in text.lines() {
        put(&mut joined, line, &places);
    }
    // The instructions for warps and for pairs need sm_80.
    if redux.is_some() || pairs.is_some() {
        return joined.replacen(".target sm_70\n", ".target sm_80\n", 1);
    }
    joined
}

/// Returns the placeholders' instructions.
fn places(operation: &Instructions, types: &Types, redux: Option<&str>) -> Vec<Place> {
    let (local, value) = (types.local, types.value);
    let rounded = if types.nan.is_some() { ".rn" } else { "" };
    let typed = |text: &str, of: &str| {
        text.replace("$t", of).replace("$b", bits(of)).replace("$r", rounded)
    };
    let (neutral, empty) = (neutral(operation.neutral, types), empty(operation.neutral, types));
    let constant = |of: &str, value: &str| format!("mov.{} $0, {value};", bits(of));
    let element = if types.texts.element == 8 { "b64" } else { "b32" };
    let blank = neutral_of_elements(operation.neutral, types);
    let join = |of: &str| typed(operation.join, of);
    let add = if types.widen.is_empty() && operation.map.is_empty() {
        join(local)
    } else {
        let widen = if types.widen.is_empty() { "mov.$b $0, $1;" } else { types.widen };
        let widen = typed(widen, local).replace("$0", "wide").replace("$1", "$2");
        let map = typed(operation.map, local).replace("$0", "wide");
        let join = join(local).replace("$2", "wide");
        format!("{{ .reg .{} wide; {widen} {map} {join} }}", bits(local))
    };
    let widen = if types.widen.is_empty() { "mov.$b $0, $1;" } else { types.widen };
    let [left, right] = [("left", "$2"), ("right", "$3")]
        .map(|(wide, element)| typed(widen, local).replace("$0", wide).replace("$1", element));
    let multiply = if types.nan.is_some() { "mul.rn.$t" } else { "mul.lo.$t" };
    let multiply = typed(multiply, local);
    let product = format!(
        "{{ .reg .{} left, right; {left} {right} {multiply} left, left, right; {} }}",
        bits(local),
        join(local).replace("$2", "left")
    );
    let result = typed(operation.result, value);
    // Every NaN is stored as the same bits.
    let canonical = |result: &str| match types.nan {
        Some(nan) => {
            let (b, result) = (bits(value), result.replace("$0", "last"));
            format!(
                "{{ .reg .{b} last; .reg .pred none;\n{result}\nsetp.nan.{value} none, last, last; \
                 selp.{b} $0, {nan}, last, none; }}"
            )
        }
        None => result.to_owned(),
    };
    let from_double = if value == "f64" { "mov.b64 $0, $1;" } else { "cvt.rn.f32.f64 $0, $1;" };
    let to_double = match (value, types.widen) {
        ("f64", _) => "mov.b64 $0, $1;".to_owned(),
        (_, "") => "cvt.f64.f32 $0, $1;".to_owned(),
        (_, widen) => {
            let widen = widen.replace("$0", "wide");
            format!("{{ .reg .b32 wide; {widen} cvt.f64.f32 $0, wide; }}")
        }
    };
    let (from_double, result) = (canonical(from_double), canonical(&result));
    let warp = match redux {
        Some(redux) => typed(redux, value),
        None => {
            let step = |to, s| {
                format!("shfl.sync.down.b32 far, near, {s}, 31, -1;\nJOIN {to}, near, far;\n")
            };
            let steps = [16, 8, 4, 2].map(|s| step("near", s)).concat() + &step("$0", 1);
            format!("{{ .reg .b32 near, far; mov.b32 near, $1;\n{steps}}}")
        }
    };
    vec![
        ("NONE", constant(value, neutral)),
        ("EMPTY", constant(value, empty)),
        ("BLANK", format!("mov.{element} $0, {blank};")),
        ("ADD", add),
        ("PRODUCT", product),
        ("WIDEN", typed(widen, local)),
        ("TO_DOUBLE", to_double),
        ("FROM_DOUBLE", from_double),
        ("VALUE", types.convert.to_owned()),
        ("JOIN", join(value)),
        ("RESULT", result),
        ("WARP", warp),
        ("OVER", if value == "f64" { OVER_OF_DOUBLES } else { OVER }.to_owned()),
    ]
}

/// Returns the placeholders' instructions for the second operation of a template, which is the
/// maximum.
fn others(types: &Types) -> Vec<Place> {
    let max = &<Max as Operate>::DEVICE;
    let start = format!("mov.{} $0, {};", bits(types.local), neutral(max.neutral, types));
    let renamed = places(max, types, None).into_iter().filter_map(|(name, text)| {
        let name = match name {
            "NONE" => "OTHER_NONE",
            "EMPTY" => "OTHER_EMPTY",
            "ADD" => "OTHER_ADD",
            "JOIN" => "OTHER_JOIN",
            _ => return None,
        };
        Some((name, text))
    });
    renamed.chain([("OTHER_START", start)]).collect()
}

/// Returns the value of an empty slice.
fn empty(neutral: Neutral, types: &Types) -> &'static str {
    match neutral {
        Neutral::Zero | Neutral::ZeroOfNumbers => "0",
        Neutral::Largest => types.extremes[0],
        Neutral::Smallest => types.extremes[1],
    }
}

/// Returns the neutral value. Combining it with any value gives that value.
fn neutral(neutral: Neutral, types: &Types) -> &'static str {
    match neutral {
        Neutral::Zero => "0",
        _ => types.nan.unwrap_or_else(|| empty(neutral, types)),
    }
}

/// Returns the value of a PTX integer literal, which is decimal or hexadecimal.
fn number(literal: &str) -> u64 {
    let number = match literal.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => literal.parse(),
    };
    number.expect("the literals in `types` are numbers")
}

/// Returns the bits of a neutral element. Combining it with any value gives that value.
fn neutral_of_elements(neutral: Neutral, types: &Types) -> &'static str {
    match neutral {
        Neutral::Zero => "0",
        Neutral::Largest => types.blanks[0],
        Neutral::Smallest | Neutral::ZeroOfNumbers => types.blanks[1],
    }
}

/// Divides the float `$1` by the integer `$2`, and rounds once. The quotient of doubles is rounded
/// to odd, that is, an inexact quotient is rounded towards zero and its last bit is set. Rounding
/// it again then gives the nearest float (Boldo and Melquiond, 2008).
const OVER: &str = "{ .reg .f64 all, count, over, rest; .reg .b64 odd; .reg .pred inexact; \
    cvt.f64.f32 all, $1; cvt.rn.f64.u64 count, $2; div.rz.f64 over, all, count; neg.f64 rest, over; \
    fma.rn.f64 rest, rest, count, all; abs.f64 rest, rest; setp.gt.f64 inexact, rest, 0d0000000000000000; \
    mov.b64 odd, over; @inexact or.b64 odd, odd, 1; mov.b64 over, odd; cvt.rn.f32.f64 $0, over; }";

/// Divides the double `$1` by the integer `$2`.
const OVER_OF_DOUBLES: &str =
    "{ .reg .f64 count; cvt.rn.f64.u64 count, $2; div.rn.f64 $0, $1, count; }";

fn bits(of: &str) -> &'static str {
    if of.ends_with("64") { "b64" } else { "b32" }
}

fn replace(places: &mut [Place], name: &str, by: String) {
    if let Some((_, text)) = places.iter_mut().find(|(place, _)| *place == name) {
        *text = by;
    }
}

/// Appends a line. If the line begins with a placeholder, appends the placeholder's instructions
/// instead.
fn put(joined: &mut String, line: &str, places: &[Place]) {
    let placed = line.split_once(' ').and_then(|(name, operands)| {
        let (_, text) = places.iter().find(|(place, _)| *place == name)?;
        Some((text, operands.trim_end_matches(';')))
    });
    let Some((text, operands)) = placed else {
        joined.push_str(line);
        joined.push('\n');
        return;
    };
    let operands: Vec<&str> = operands.split(", ").collect();
    let mut text = text.as_str().to_owned();
    for (operand, name) in operands.iter().zip(["$0", "$1", "$2", "$3"]) {
        text = text.replace(name, operand);
    }
    for line in text.lines() {
        put(joined, line, places);
    }
}
