//! Matrices in a file: a header of 16 bytes, followed by the numbers in row-major or column-major
//! order.
//!
//! | bytes | contents |
//! |---|---|
//! | 0 to 7 | `2x2 row1` or `2x2 col1`: the kind of file, the order of the numbers, and the version of the format |
//! | 8 to 15 | the number of matrices, little-endian |
//! | 16 … | four `f32` for each matrix, little-endian |

use std::{
    fs::{self, File},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
};

use crate::part::Part;
use common::{
    Error, Result,
    device::host,
    plan::{Holds, Order},
};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

/// The first bytes of a file.
const MAGICS: [(&[u8; 8], Order); 2] = [(b"2x2 row1", Order::Row), (b"2x2 col1", Order::Column)];

/// The number of bytes in the header.
const HEADER: u64 = 16;

/// The number of bytes in a matrix.
const MATRIX: u64 = 4 * Holds::ENTRIES;

/// The number of bytes that are read or written at a time.
const PIECE: usize = 1 << 20;

/// Matrices, and the order of their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrices {
    /// The numbers: four for each matrix.
    pub values: Vec<f32>,
    /// The order of the numbers.
    pub order: Order,
}

/// An open file whose header has been read.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The file's name in messages.
    pub(crate) name: String,
    /// The order of the numbers in the file.
    pub(crate) order: Order,
    /// The number of matrices in the file.
    pub(crate) count: u64,
    file: File,
    length: u64,
}

/// Opens a file, and reads its header.
pub(crate) fn open(path: &Path) -> Result<Opened> {
    let name = path.display().to_string();
    let failed = |source| Error::File { doing: format!("reading {name}"), source };
    let wrong = |text: String| Err(Error::Usage(format!("{name} {text}")));
    // Check this before opening the file, because opening a pipe without a writer would block.
    let facts = fs::metadata(path).map_err(failed)?;
    if facts.is_dir() {
        return wrong("is a folder: name a file that `matrix-sum generate` wrote".into());
    }
    if !facts.is_file() {
        return wrong("is not a regular file: copy its contents to a regular file".into());
    }
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let (order, count) = header(&name, &mut file, length)?;
    Ok(Opened { name, order, count, file, length })
}

/// Reads a whole file. The file is not memory-mapped: if it is truncated while it is read, the
/// result is an error, whereas accessing mapped memory would end the program.
pub fn read(path: &Path) -> Result<Matrices> {
    let Opened { name, order, count, mut file, length } = open(path)?;
    rest(&name, &mut file, length, (order, count))
}

/// Returns the error for a file of which some or all bytes cannot be read.
fn failed(name: &str, length: u64, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::UnexpectedEof => Error::Usage(format!(
            "{name} became shorter than its {length} bytes while it was being read: wait until the program that writes it has ended"
        )),
        _ => Error::File { doing: format!("reading {name}"), source },
    }
}

/// Reads a file's header. Returns the order of the numbers and the number of matrices. `length` is
/// the file's length in bytes.
fn header(name: &str, file: &mut impl Read, length: u64) -> Result<(Order, u64)> {
    let wrong = |text: String| Err(Error::Usage(format!("{name} {text}")));
    if length < HEADER {
        return wrong(match length {
            0 => "is empty: write it with `matrix-sum generate`".into(),
            _ => format!("has {length} bytes, but the header alone has {HEADER}: it was truncated"),
        });
    }
    let mut header = [0; HEADER as usize];
    file.read_exact(&mut header).map_err(|source| failed(name, length, source))?;
    let (magic, count) = header.split_at(8);
    let Some((_, order)) = MAGICS.into_iter().find(|(known, _)| known[..] == *magic) else {
        return wrong(format!(
            "starts with `{}`, but a file of matrices starts with `2x2 row1` or `2x2 col1`: write it with `matrix-sum generate`",
            magic.escape_ascii()
        ));
    };
    let count = u64::from_le_bytes(count.try_into().unwrap_or_default());
    let (told, bytes) = (u128::from(count) * u128::from(MATRIX), length - HEADER);
    if told != u128::from(bytes) {
        let there = match (bytes / MATRIX, bytes % MATRIX) {
            (whole, 0) => format!("{whole}"),
            (whole, odd) => format!("{whole} and {odd} bytes of another"),
        };
        return wrong(format!(
            "declares {count} matrices but has {there}: {}",
            if told > u128::from(bytes) {
                "it was truncated, so write or copy it again"
            } else {
                "data was appended, so write it again"
            }
        ));
    }
    Ok((order, count))
}

/// Reads the numbers after the header.
fn rest(
    name: &str,
    file: &mut impl Read,
    length: u64,
    (order, count): (Order, u64),
) -> Result<Matrices> {
    let bytes = length - HEADER;
    let free = host::free_bytes();
    if bytes > free {
        let what = format!("the contents of {name}");
        return Err(Error::Memory { what, place: "host", needed: bytes, free });
    }
    let mut values: Vec<f32> = Vec::new();
    let n = usize::try_from(bytes / 4).unwrap_or(usize::MAX);
    if values.try_reserve_exact(n).is_err() {
        return Err(Error::Refused { what: format!("the numbers of {name}"), needed: bytes });
    }
    numbers(file, bytes, &mut values).map_err(|source| failed(name, length, source))?;
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(Matrices { values, order }),
        Some(at) => Err(endless(name, values[at], place(at as u64, count, order))),
    }
}

/// Returns the error for a number that is not finite.
fn endless(name: &str, value: f32, (matrix, entry): (u64, u64)) -> Error {
    Error::Usage(format!(
        "{name} holds {value}, entry {entry} of matrix {matrix}: only finite numbers can be added"
    ))
}

impl Opened {
    /// Reads the matrices of `range`, in the file's order, as bytes.
    pub(crate) fn piece(&mut self, range: Range<u64>, into: &mut [u8]) -> Result<()> {
        let matrices = range.end - range.start;
        let (order, count, length) = (self.order, self.count, self.length);
        // Reads one range of bytes in row-major order, or one range for each entry in column-major
        // order.
        let (runs, bytes) = match order {
            Order::Row => (vec![range.start * MATRIX], matrices * MATRIX),
            Order::Column => {
                let run = |entry| 4 * (entry * count + range.start);
                ((0..Holds::ENTRIES).map(run).collect(), 4 * matrices)
            }
        };
        for (run, from) in runs.into_iter().enumerate() {
            let into = &mut into[run * bytes as usize..][..bytes as usize];
            let file = &mut self.file;
            let read =
                file.seek(SeekFrom::Start(HEADER + from)).and_then(|_| file.read_exact(into));
            read.map_err(|source| failed(&self.name, length, source))?;
            let mut values = into.chunks_exact(4).map(float);
            if let Some(at) = values.position(|value| !value.is_finite()) {
                let value = float(&into[4 * at..][..4]);
                return Err(endless(&self.name, value, place(from / 4 + at as u64, count, order)));
            }
        }
        Ok(())
    }
}

/// Converts four bytes to a number.
pub(crate) fn float(bytes: &[u8]) -> f32 {
    f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// Reads the numbers in the next `bytes` bytes; `bytes` is a multiple of four.
fn numbers(from: &mut impl Read, bytes: u64, values: &mut Vec<f32>) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut left = bytes;
    while left > 0 {
        let now = &mut piece[..left.min(PIECE as u64) as usize];
        from.read_exact(now)?;
        values.extend(now.chunks_exact(4).map(float));
        left -= now.len() as u64;
    }
    Ok(())
}

/// Returns the matrix and the entry that an element belongs to.
fn place(at: u64, count: u64, order: Order) -> (u64, u64) {
    match order {
        Order::Row => (at / Holds::ENTRIES, at % Holds::ENTRIES),
        Order::Column => (at % count, at / count),
    }
}

/// Writes `count` matrices with numbers from -1 to 1. The matrices are the same in both orders.
///
/// The matrices are written to a temporary file in the same folder, which is renamed when it is
/// complete. On failure, no file remains, and an existing file is unchanged.
pub fn generate(path: &Path, order: Order, count: u64, seed: u64) -> Result<()> {
    if path.is_dir() {
        let text = format!("{} is a folder: name a file", path.display());
        return Err(Error::Usage(text));
    }
    // Only a regular file is replaced, not a pipe or a device.
    if path.exists() && !path.is_file() {
        let text =
            format!("{} exists and is not a regular file: name another file", path.display());
        return Err(Error::Usage(text));
    }
    let part = Part::new(PathBuf::from(format!("{}.part", path.display())));
    let beside = part.path();
    let written = write(beside, order, count, seed).and_then(|()| fs::rename(beside, path));
    written.map_err(|source| {
        let bytes = u128::from(HEADER) + u128::from(count) * u128::from(MATRIX);
        Error::File {
            doing: format!("writing {bytes} bytes to {}, none of which were kept", path.display()),
            source,
        }
    })
}

fn write(path: &Path, order: Order, count: u64, seed: u64) -> io::Result<()> {
    let file = File::create(path)?;
    let bytes = u128::from(HEADER) + u128::from(count) * u128::from(MATRIX);
    reserve(&file, u64::try_from(bytes).unwrap_or(u64::MAX))?;
    let mut file = BufWriter::with_capacity(PIECE, file);
    let magic = MAGICS.iter().find(|(_, of)| *of == order).map_or(b"        ", |(magic, _)| *magic);
    file.write_all(magic)?;
    file.write_all(&count.to_le_bytes())?;
    // The numbers for entry e come from random stream e, so that entries can be drawn
    // independently.
    let stream = |entry| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(entry);
        rng
    };
    let mut streams: Vec<ChaCha8Rng> = (0..Holds::ENTRIES).map(stream).collect();
    let mut put =
        |rng: &mut ChaCha8Rng| file.write_all(&rng.random_range(-1.0f32..=1.0).to_le_bytes());
    match order {
        Order::Row => (0..count).try_for_each(|_| streams.iter_mut().try_for_each(&mut put))?,
        Order::Column => {
            streams.iter_mut().try_for_each(|rng| (0..count).try_for_each(|_| put(rng)))?;
        }
    }
    file.into_inner()?.sync_all()
}

/// Reserves a file's bytes on the disk, so that a full disk causes an error at once, not after
/// minutes of writing.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    use rustix::{
        fs::{FallocateFlags, fallocate},
        io::Errno,
    };
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        // Some file systems cannot reserve space; on these, a full disk makes a later write fail.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reserves nothing, so a full disk makes a later write fail.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn reserve(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, file: &mut impl Read, length: u64) -> Result<Matrices> {
        let facts = header(name, file, length)?;
        rest(name, file, length, facts)
    }

    #[test]
    fn a_file_that_shrinks_while_it_is_read_is_an_error() {
        let mut file = [&b"2x2 row1"[..], &10u64.to_le_bytes(), &[0; 160]].concat();
        assert_eq!(parse("FILE", &mut &file[..], 176).unwrap().values, [0.0; 40]);
        for left in [175, 100, 16, 15, 0] {
            file.truncate(left);
            let said = parse("FILE", &mut &file[..], 176).unwrap_err().to_string();
            assert_eq!(
                said,
                "FILE became shorter than its 176 bytes while it was being read: wait until the program that writes it has ended"
            );
        }
    }

    /// Opens a file of ten matrices in row-major order, in which every number is its index.
    fn opened(test: &str) -> (std::path::PathBuf, Opened) {
        let path = std::env::temp_dir().join(format!("matrix-sum-{}-{test}", std::process::id()));
        let numbers = (0..40).flat_map(|at| (at as f32).to_le_bytes());
        let bytes: Vec<u8> = b"2x2 row1".iter().copied().chain(10u64.to_le_bytes()).collect();
        fs::write(&path, bytes.into_iter().chain(numbers).collect::<Vec<u8>>()).unwrap();
        let file = open(&path).unwrap();
        (path, file)
    }

    /// On Unix, a deleted file remains readable while it is open, so its sum can still be computed.
    #[test]
    fn a_file_that_is_deleted_while_it_is_read_has_its_sum() {
        let (path, mut file) = opened("gone");
        let mut into = [0; 5 * MATRIX as usize];
        file.piece(0..5, &mut into).unwrap();
        fs::remove_file(&path).unwrap();
        file.piece(5..10, &mut into).unwrap();
        let numbers: Vec<f32> = into.chunks(4).map(float).collect();
        assert_eq!(numbers, (20..40).map(|at| at as f32).collect::<Vec<_>>());
        let said = open(&path).unwrap_err().to_string();
        assert!(said.starts_with("reading ") && said.contains("No such file"), "{said}");
    }

    #[test]
    fn a_piece_that_was_truncated_is_an_error() {
        let (path, mut file) = opened("cut");
        let mut into = [0; 5 * MATRIX as usize];
        file.piece(0..5, &mut into).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
        let said = file.piece(5..10, &mut into).unwrap_err().to_string();
        fs::remove_file(&path).unwrap();
        assert!(
            said.contains("became shorter than its 176 bytes while it was being read"),
            "{said}"
        );
    }
}
