//! Installs CUPTI, which reads a GPU's counters, from wheels on PyPI, so that no CUDA installation
//! is needed.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use compiler::find;
use xshell::{Shell, cmd};

use crate::venv;

/// A wheel, and the first driver that supports its CUDA version.
struct Wheel {
    driver: u32,
    package: &'static str,
}

/// The wheels, newest first. A CUPTI that is older than the driver's CUDA version records none of
/// the driver's launches (for example, 12.9 under a 13.0 driver). A newer CUPTI with the same major
/// version, such as 13.5, does record them.
const WHEELS: [Wheel; 2] = [
    Wheel { driver: 580, package: "nvidia-cuda-cupti==13.5.25" },
    Wheel { driver: 0, package: "nvidia-cuda-cupti-cu12==12.9.79" },
];

/// Installs the CUPTI that matches this machine's driver into `.venv`, if it is missing.
pub(crate) fn install(sh: &Shell) -> Result<()> {
    ensure!(!cfg!(target_os = "macos"), "NVIDIA has neither CUPTI nor a driver for macOS");
    let driver = driver(sh);
    let wheel = wheel(driver);
    match driver {
        Some(driver) => {
            say!("installing {} for driver {driver} from PyPI into .venv (13 MB)", wheel.package)
        }
        None => say!(
            "installing {} from PyPI into .venv (13 MB); this is the newest version, because this machine has no driver to match",
            wheel.package
        ),
    }
    venv::install(sh, &["--no-deps", wheel.package])?;
    let path = installed(sh).context("pip installed the wheel, but CUPTI is not in .venv")?;
    for companion in find::COMPANIONS {
        ensure!(
            path.with_file_name(companion).exists(),
            "{} was installed without its companion {companion}",
            path.display()
        );
    }
    say!("CUPTI is at {}", path.display());
    Ok(())
}

fn installed(sh: &Shell) -> Option<PathBuf> {
    find::cupti_in_venv(&venv::folder(sh)).into_iter().next()
}

/// Returns the driver's major version, such as 580, or `None` if there is no driver.
fn driver(sh: &Shell) -> Option<u32> {
    let asked = cmd!(sh, "nvidia-smi --query-gpu=driver_version --format=csv,noheader");
    first_number(&asked.quiet().ignore_stderr().read().ok()?)
}

fn first_number(text: &str) -> Option<u32> {
    text.trim().split('.').next()?.parse().ok()
}

/// Returns the wheel for a driver, or the newest wheel if there is no driver.
fn wheel(driver: Option<u32>) -> &'static Wheel {
    let driver = driver.unwrap_or(u32::MAX);
    WHEELS.iter().find(|wheel| driver >= wheel.driver).unwrap_or(&WHEELS[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wheel_matches_the_driver_s_cuda() {
        assert_eq!(first_number("580.159.04\n550.54.15\n"), Some(580));
        assert_eq!(first_number("No devices were found"), None);
        for (driver, package) in [
            (None, "nvidia-cuda-cupti==13."),
            (Some(580), "nvidia-cuda-cupti==13."),
            (Some(575), "nvidia-cuda-cupti-cu12==12."),
            (Some(550), "nvidia-cuda-cupti-cu12==12."),
        ] {
            assert!(wheel(driver).package.starts_with(package), "{driver:?}");
        }
    }
}
