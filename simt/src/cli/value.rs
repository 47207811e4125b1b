//! Parses arguments in the notation of the command line.

use std::io::Read as _;

use serde_json::Value;
use simt::{Arg, Gpu};

/// Limit on the size of a buffer in bytes, so that a typo cannot fill the machine's memory.
const MOST: u64 = 1 << 32;

/// An argument. For an output argument, also contains the type, the address, and the number of
/// elements to print.
pub(crate) struct Given {
    pub(crate) arg: Arg,
    output: Option<(Ty, u64, usize)>,
}

#[derive(Clone, Copy)]
enum Ty {
    U8,
    U16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl Ty {
    fn parse(text: &str) -> Result<Ty, String> {
        Ok(match text {
            "u8" => Ty::U8,
            "u16" => Ty::U16,
            "u32" => Ty::U32,
            "i32" => Ty::I32,
            "u64" => Ty::U64,
            "i64" => Ty::I64,
            "f32" => Ty::F32,
            "f64" => Ty::F64,
            _ => {
                return Err(format!(
                    "`{text}` is not a type: choose u8, u16, u32, i32, u64, i64, f32 or f64"
                ));
            }
        })
    }

    fn bytes(self) -> usize {
        match self {
            Ty::U8 => 1,
            Ty::U16 => 2,
            Ty::U32 | Ty::I32 | Ty::F32 => 4,
            Ty::U64 | Ty::I64 | Ty::F64 => 8,
        }
    }

    fn number(self, text: &str) -> Result<Arg, String> {
        let hex = text.strip_prefix("0x").and_then(|h| u64::from_str_radix(h, 16).ok());
        let decimal = match hex {
            Some(v) => v.to_string(),
            None => text.to_string(),
        };
        let arg = match self {
            Ty::U8 => decimal.parse().map(Arg::U8).ok(),
            Ty::U16 => decimal.parse().map(Arg::U16).ok(),
            Ty::U32 => decimal.parse().map(Arg::U32).ok(),
            Ty::I32 => decimal.parse().map(Arg::I32).ok(),
            Ty::U64 => decimal.parse().map(Arg::U64).ok(),
            Ty::I64 => decimal.parse().map(Arg::I64).ok(),
            Ty::F32 => decimal.parse().map(Arg::F32).ok(),
            Ty::F64 => decimal.parse().map(Arg::F64).ok(),
        };
        arg.ok_or_else(|| format!("`{text}` does not fit the type"))
    }

    fn small(self, v: u64) -> Vec<u8> {
        match self {
            Ty::F32 => (v as f32).to_le_bytes().to_vec(),
            Ty::F64 => (v as f64).to_le_bytes().to_vec(),
            _ => v.to_le_bytes()[..self.bytes()].to_vec(),
        }
    }

    fn show(self, bytes: &[u8]) -> Value {
        let mut raw = [0; 8];
        raw[..bytes.len()].copy_from_slice(bytes);
        let v = u64::from_le_bytes(raw);
        // JSON has no numbers for NaN and infinity.
        let float =
            |f: f64, text: String| if f.is_finite() { Value::from(f) } else { Value::from(text) };
        match self {
            Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => v.into(),
            Ty::I32 => (v as i32).into(),
            Ty::I64 => (v as i64).into(),
            Ty::F32 => {
                let f = f32::from_bits(v as u32);
                // Use the shortest text that identifies the float, not the text of its conversion
                // to double.
                let text = f.to_string();
                text.parse().map_or_else(|_| Value::from(text.clone()), |d| float(d, text.clone()))
            }
            Ty::F64 => float(f64::from_bits(v), f64::from_bits(v).to_string()),
        }
    }
}

impl Given {
    /// Parses an argument, and creates its buffer.
    pub(crate) fn parse(text: &str, gpu: &mut Gpu) -> Result<Given, String> {
        let mut parts = text.splitn(4, ':');
        let kind = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        match (kind, rest.as_slice()) {
            ("buf", [ty, count, fill]) => buffer(gpu, Ty::parse(ty)?, count, fill, false),
            ("out", [ty, count]) => buffer(gpu, Ty::parse(ty)?, count, "zeros", true),
            ("out", [ty, count, fill]) => buffer(gpu, Ty::parse(ty)?, count, fill, true),
            ("buf" | "out", _) => Err("give buf:TYPE:COUNT:FILL or out:TYPE:COUNT".into()),
            (ty, [value]) => Ok(Given { arg: Ty::parse(ty)?.number(value)?, output: None }),
            _ => Err("give TYPE:VALUE, buf:TYPE:COUNT:FILL or out:TYPE:COUNT".into()),
        }
    }

    /// Returns the values of an output after the run, or `None` for other arguments.
    pub(crate) fn output(&self, gpu: &mut Gpu) -> Result<Option<Vec<Value>>, String> {
        let Some((ty, base, count)) = self.output else { return Ok(None) };
        let mut bytes = vec![0; count * ty.bytes()];
        gpu.read(base, &mut bytes).map_err(|e| e.to_string())?;
        Ok(Some(bytes.chunks(ty.bytes()).map(|b| ty.show(b)).collect()))
    }
}

fn buffer(gpu: &mut Gpu, ty: Ty, count: &str, fill: &str, output: bool) -> Result<Given, String> {
    let count: u64 = count.parse().map_err(|_| format!("`{count}` is not a number of elements"))?;
    let bytes = count
        .checked_mul(ty.bytes() as u64)
        .filter(|b| *b <= MOST)
        .ok_or("a buffer can have at most 4 GiB")?;
    let base = gpu.alloc(bytes).map_err(|e| e.to_string())?;
    let data: Vec<u8> = match fill {
        "poison" => Vec::new(),
        "zeros" => vec![0; bytes as usize],
        "ones" => (0..count).flat_map(|_| ty.small(1)).collect(),
        "iota" => (0..count).flat_map(|i| ty.small(i)).collect(),
        path => {
            let said = |e: std::io::Error| {
                format!("{path}: {e} (FILL is a file, or zeros, ones, iota or poison)")
            };
            let mut data = Vec::new();
            // Reads at most one byte more than the buffer can hold, because some files never end.
            let file = super::regular(path.as_ref()).map_err(said)?;
            file.take(bytes + 1).read_to_end(&mut data).map_err(said)?;
            if data.len() as u64 > bytes {
                return Err(format!(
                    "{path} has more bytes than the buffer, which has {bytes}: increase COUNT"
                ));
            }
            data
        }
    };
    gpu.write(base, &data).map_err(|e| e.to_string())?;
    Ok(Given { arg: Arg::U64(base), output: output.then_some((ty, base, count as usize)) })
}
