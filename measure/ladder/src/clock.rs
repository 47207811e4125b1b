//! The GPU's clock rates, temperature and power, which are read through NVML and never set.

use std::ffi::OsStr;

use common::device::Cuda;
use nvml_wrapper::{
    Nvml,
    enum_wrappers::device::{Clock, TemperatureSensor},
    error::NvmlError,
};

/// NVML, if it is available, with its handle for the GPU.
#[derive(Debug)]
pub struct Monitor {
    nvml: Result<Nvml, String>,
    uuid: String,
}

impl Monitor {
    /// Loads NVML. Without NVML, every reading is unknown.
    pub fn new(cuda: &Cuda) -> Monitor {
        // The toolkit installs the library under its plain name, and the driver under a numbered
        // name.
        let nvml = Nvml::init()
            .or_else(|_| Nvml::builder().lib_path(OsStr::new("libnvidia-ml.so.1")).init())
            .map_err(|error| format!("NVML cannot be used: {error}"));
        let uuid = cuda.uuid().unwrap_or_default();
        let mut monitor = Monitor { nvml, uuid };
        if let Some(reason) = monitor.sm_clock().err() {
            monitor.nvml = Err(reason);
        }
        monitor
    }

    /// Returns the reason why the readings are unknown, or an empty string if they are known.
    pub fn reason(&self) -> String {
        self.nvml.as_ref().err().cloned().unwrap_or_default()
    }

    fn ask<T>(
        &self,
        what: impl FnOnce(&nvml_wrapper::Device<'_>) -> Result<T, NvmlError>,
    ) -> Result<T, String> {
        let nvml = self.nvml.as_ref().map_err(Clone::clone)?;
        let device = nvml.device_by_uuid(self.uuid.as_str());
        device
            .and_then(|device| what(&device))
            .map_err(|error| format!("NVML does not recognize this GPU: {error}"))
    }

    fn sm_clock(&self) -> Result<u32, String> {
        self.ask(|device| device.clock_info(Clock::SM))
    }

    /// Returns the SM clock rate, in MHz.
    pub fn sm_mhz(&self) -> Option<u32> {
        self.sm_clock().ok()
    }

    /// Returns the highest SM clock rate, in MHz.
    pub fn sm_mhz_max(&self) -> Option<u32> {
        self.ask(|device| device.max_clock_info(Clock::SM)).ok()
    }

    /// Returns the temperature, in degrees Celsius.
    pub fn celsius(&self) -> Option<u32> {
        self.ask(|device| device.temperature(TemperatureSensor::Gpu)).ok()
    }

    /// Returns the power draw, in watts.
    pub fn watts(&self) -> Option<u32> {
        self.ask(|device| device.power_usage()).ok().map(|milliwatts| (milliwatts + 500) / 1000)
    }

    /// Returns the driver's version.
    pub fn driver(&self) -> Option<String> {
        self.nvml.as_ref().ok()?.sys_driver_version().ok()
    }
}
