//! Reads a source or PTX file that the user provides.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _},
    path::Path,
};

/// The maximum size of a source or of PTX, in bytes.
const MOST: u64 = 64 << 20;

/// `O_NONBLOCK`: reading a file such as `/proc/kmsg`, which the system reports as a regular file,
/// fails instead of waiting for more text.
#[cfg(target_os = "linux")]
const NONBLOCK: i32 = 0o4000;

/// Reads a text file, without the byte order mark that some editors write.
///
/// # Errors
/// Returns the system's error, or a message if the path is that of a folder, a pipe or a device, if
/// the file has more than 64 MiB, or if the text is not UTF-8. A pipe is not opened, because
/// opening it could block forever.
pub fn read(path: &Path) -> io::Result<String> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let facts = fs::metadata(path)?;
    if facts.is_dir() {
        return refused("it is a folder: name a file");
    }
    if !facts.is_file() {
        return refused("it is not a regular file: copy its contents to a regular file");
    }
    let mut bytes = Vec::new();
    let mut options = OpenOptions::new();
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NONBLOCK);
    options.read(true).open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return refused("it is larger than 64 MiB: name a file that contains source or PTX");
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return refused("it is not UTF-8: save it in that encoding");
    };
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_of_a_regular_file_is_read() {
        let folder = std::env::temp_dir().join(format!("compiler-read-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let read_back = |bytes: &[u8]| {
            let path = folder.join("kernel.cu");
            fs::write(&path, bytes).unwrap();
            read(&path).map_err(|error| error.to_string())
        };
        assert_eq!(read_back(b"\xef\xbb\xbf// A kernel.\r\n"), Ok("// A kernel.\r\n".into()));
        assert_eq!(read_back(b""), Ok(String::new()));
        assert!(read_back(b"\xff\xfe/\0/\0").unwrap_err().contains("is not UTF-8"));
        assert!(read(&folder).unwrap_err().to_string().contains("is a folder"));
        let large = folder.join("large.cu");
        fs::File::create(&large).unwrap().set_len(MOST + 1).unwrap();
        assert!(read(&large).unwrap_err().to_string().contains("larger than 64 MiB"));
        #[cfg(unix)]
        for device in ["/dev/zero", "/dev/full"] {
            let error = read(Path::new(device)).unwrap_err().to_string();
            assert!(error.contains("is not a regular file"), "{device}: {error}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    /// The system calls this file regular, but a read waits for a message of the kernel.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_an_end_is_not_waited_for() {
        assert!(read(Path::new("/proc/kmsg")).is_err());
    }

    /// Opening a pipe to which nothing writes would block.
    #[cfg(unix)]
    #[test]
    fn a_pipe_is_not_opened() {
        let pipe = std::env::temp_dir().join(format!("compiler-pipe-{}", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = read(&pipe).unwrap_err().to_string();
        fs::remove_file(&pipe).unwrap();
        assert!(error.contains("is not a regular file"), "{error}");
    }
}
