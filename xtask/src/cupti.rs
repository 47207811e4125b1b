//! CUPTI, which reads a GPU's counters, from PyPI's wheels: no CUDA installation is needed.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use compiler::find;
use xshell::{Shell, cmd};

use crate::venv;

/// A wheel, and the first driver whose CUDA it belongs to.
struct Wheel {
    driver: u32,
    package: &'static str,
}

/// The youngest first. One of an older CUDA than the driver's, as 12.9 under a driver of 13.0, sees none
/// of its launches; a younger one of the same CUDA, as 13.5, sees them.
const WHEELS: [Wheel; 2] = [
    Wheel { driver: 580, package: "nvidia-cuda-cupti==13.5.25" },
    Wheel { driver: 0, package: "nvidia-cuda-cupti-cu12==12.9.79" },
];

/// Installs the CUPTI of this machine's driver into `.venv`, if it is not there.
pub(crate) fn bring(sh: &Shell) -> Result<()> {
    ensure!(!cfg!(target_os = "macos"), "NVIDIA makes no CUPTI for macOS, and no driver");
    let driver = driver(sh);
    let wheel = wheel(driver);
    match driver {
        Some(driver) => {
            say!("installing {} for driver {driver} from PyPI into .venv (13 MB)", wheel.package)
        }
        None => say!(
            "installing {} from PyPI into .venv (13 MB); there is no driver here to choose by",
            wheel.package
        ),
    }
    venv::install(sh, &["--no-deps", wheel.package])?;
    let path = installed(sh).context("pip installed the wheel, and CUPTI is not in .venv")?;
    for companion in find::COMPANIONS {
        ensure!(
            path.with_file_name(companion).exists(),
            "{} lacks its companion {companion}",
            path.display()
        );
    }
    say!("CUPTI is at {}", path.display());
    Ok(())
}

fn installed(sh: &Shell) -> Option<PathBuf> {
    find::cupti_in_venv(&venv::folder(sh)).into_iter().next()
}

/// The driver's first number, as 580; none where there is no driver.
fn driver(sh: &Shell) -> Option<u32> {
    let asked = cmd!(sh, "nvidia-smi --query-gpu=driver_version --format=csv,noheader");
    first_number(&asked.quiet().ignore_stderr().read().ok()?)
}

fn first_number(text: &str) -> Option<u32> {
    text.trim().split('.').next()?.parse().ok()
}

/// The wheel of a driver; the youngest where there is none.
fn wheel(driver: Option<u32>) -> &'static Wheel {
    let driver = driver.unwrap_or(u32::MAX);
    WHEELS.iter().find(|wheel| driver >= wheel.driver).unwrap_or(&WHEELS[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wheel_is_that_of_the_driver_s_cuda() {
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
