//! Reads files of results up to a size limit, and creates the folders for such files.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;

use crate::{Error, Result};

/// The maximum uncompressed size of a file of results, in bytes.
const MOST: u64 = 1 << 30;

/// Returns whether a file's name has the extension of a compressed file.
pub(crate) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// Returns the path of a file, or this path with `.gz` appended if only the compressed file exists.
pub fn find(path: &Path) -> PathBuf {
    let packed = PathBuf::from(format!("{}.gz", path.display()));
    if !path.exists() && packed.exists() { packed } else { path.to_owned() }
}

/// Reads a file's bytes, and decompresses them if the name ends in `.gz` or if only the compressed
/// file exists.
///
/// # Errors
/// Returns [`Error::File`] if the system reports an error, if the path refers to a folder, a pipe
/// or a device, or if the file has more than 1 GiB.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    bounded(&find(path), MOST).map_err(Error::reading(path))
}

fn bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    // Opening a pipe that has no writer would block.
    if !fs::metadata(path)?.is_file() {
        return refused("it is not a regular file: copy its contents to a regular file".into());
    }
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    match is_packed(path) {
        true => GzDecoder::new(file).take(most + 1).read_to_end(&mut bytes)?,
        false => file.take(most + 1).read_to_end(&mut bytes)?,
    };
    if bytes.len() as u64 > most {
        return refused(format!("it has more than {most} bytes: pass a file of results"));
    }
    Ok(bytes)
}

/// Creates a folder and its parents, before anything is measured for it.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|source| Error::File {
        doing: "making the folder",
        path: path.display().to_string(),
        source,
    })
}

/// Creates the folder for a file that will be written.
pub fn make_folder_of(file: &Path) -> Result<()> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => make_folder(folder),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_a_bound() {
        let folder = std::env::temp_dir().join(format!("measured-file-{}", std::process::id()));
        make_folder(&folder).unwrap();
        let path = folder.join("a.csv");
        make_folder_of(&folder.join("b/c.csv")).unwrap();
        assert!(folder.join("b").is_dir());
        fs::write(&path, "12345").unwrap();
        assert_eq!(bounded(&path, 5).unwrap(), b"12345");
        assert!(bounded(&path, 4).unwrap_err().to_string().contains("more than 4 bytes"));
        // A compressed file may expand by a factor of a thousand.
        let packed = folder.join("a.csv.gz");
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        io::Write::write_all(&mut encoder, &[b'0'; 100_000]).unwrap();
        fs::write(&packed, encoder.finish().unwrap()).unwrap();
        assert_eq!(bounded(&packed, 100_000).unwrap().len(), 100_000);
        assert!(bounded(&packed, 99_999).is_err());
        fs::remove_file(&path).unwrap();
        assert_eq!(read(&path).unwrap().len(), 100_000, "the compressed file replaces the other");
        assert!(read(&folder).unwrap_err().to_string().contains("is not a regular file"));
        #[cfg(unix)]
        assert!(read(Path::new("/dev/zero")).unwrap_err().to_string().contains("regular file"));
        fs::remove_dir_all(folder).unwrap();
    }
}
