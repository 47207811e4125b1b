//! The host's free memory.
#![cfg_attr(
    windows,
    expect(unsafe_code, reason = "only a Windows C function reports the free memory")
)]

/// Returns the number of bytes of available host memory; unlimited if the system does not report
/// it.
pub fn free_bytes() -> u64 {
    asked().unwrap_or(u64::MAX)
}

/// Returns the available memory on Linux, without swap space.
#[cfg(not(any(windows, target_os = "macos", target_family = "wasm")))]
fn asked() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    rest.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

/// Returns the memory limit for a page of the book, where the code runs as WebAssembly.
#[cfg(target_family = "wasm")]
fn asked() -> Option<u64> {
    Some(256 << 20)
}

/// Returns the size of all memory on macOS, because that system frees memory on demand.
#[cfg(target_os = "macos")]
fn asked() -> Option<u64> {
    use std::{process::Command, sync::OnceLock};
    static BYTES: OnceLock<Option<u64>> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let output = Command::new("/usr/sbin/sysctl").args(["-n", "hw.memsize"]).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    })
}

/// Returns the free physical memory on Windows, without the paging file.
#[cfg(windows)]
fn asked() -> Option<u64> {
    use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
    let mut status = MEMORYSTATUSEX {
        dwLength: size_of::<MEMORYSTATUSEX>() as u32,
        // SAFETY: the structure consists of numbers, for which zero is valid.
        ..unsafe { std::mem::zeroed() }
    };
    // SAFETY: the function writes the structure, which states its own length.
    (unsafe { GlobalMemoryStatusEx(&mut status) } != 0).then_some(status.ullAvailPhys)
}

#[cfg(test)]
mod tests {
    #[test]
    fn free_memory_is_reported() {
        let bytes = super::free_bytes();
        assert!((1 << 20..1 << 50).contains(&bytes), "{bytes}");
    }
}
