//! Reads a GPU's hardware counters for each launch.
//!
//! This file contains `unsafe` code, because CUPTI takes its structures by pointer.
#![expect(unsafe_code, reason = "CUPTI takes its structures by pointer")]

use std::ffi::{CString, c_char, c_void};

use super::{
    fault::Fault,
    library::Library,
    structs::{
        AddMetrics, Asked, Availability, ChipName, Config, ConfigSize, DataInfo, DataInitialize,
        DataSize, Decode, DeviceSupported, Disable, Enable, Evaluate, HostDeinitialize,
        HostInitialize, Passes, ProfilerInitialize, SetConfig, Start, Stop,
    },
};
use crate::{Result, device::Cuda};

/// The metrics, under the names that ncu also uses.
pub const METRICS: [&str; 10] = [
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "smsp__sass_branch_targets_threads_divergent.sum",
    "smsp__inst_executed.sum",
];

/// The counts for one launch, in the order of [`METRICS`].
pub type Values = [f64; METRICS.len()];

/// A CUPTI session that can count events on a GPU.
pub struct Session<'l> {
    library: &'l Library,
    target: Target,
    host: Host<'l>,
    config: Vec<u8>,
    /// The number of times that each launch is replayed. Replays are necessary because a GPU has
    /// fewer counters than there are metrics.
    pub passes: usize,
}

/// A driver context, and the device that it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) context: *mut c_void,
    pub(super) device: i32,
    pub(super) ordinal: usize,
}

impl Session<'_> {
    /// Finds CUPTI and initializes it for a GPU.
    pub fn open(cuda: &Cuda) -> Result<Session<'static>> {
        turing(cuda.capability())?;
        cuda.bind()?;
        let (context, device, ordinal) = cuda.target();
        Ok(Session::with(Library::find()?, Target { context, device, ordinal })?)
    }

    /// Like [`open`](Session::open), but uses the given CUPTI library.
    pub(super) fn with(library: &Library, target: Target) -> Result<Session<'_>, Fault> {
        library.young()?;
        library.complete()?;
        let host = Host::new(library, target)?;
        let mut config = host.config()?;
        let passes = host.passes(&mut config)?;
        Ok(Session { library, target, host, config, passes })
    }

    /// Returns CUPTI's version.
    pub fn version(&self) -> String {
        self.library.version()
    }

    /// Counts events in the launches that `launch` makes, and waits for the launches to finish.
    /// `launches` is their number.
    ///
    /// Launches run one at a time. Each launch runs several times, and every run starts with the
    /// same memory contents as the first run. A launch that waits for another launch, or for a
    /// gate, therefore never ends.
    pub fn count(
        &self,
        launches: usize,
        launch: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Values>> {
        let ranges = Ranges::new(self.library, self.target, &self.config, launches)?;
        ranges.start()?;
        let launched = launch();
        let stopped = ranges.stop();
        launched?;
        stopped?;
        ranges.decode(launches)?;
        (0..launches).map(|range| Ok(self.host.values(&ranges.data, range)?)).collect()
    }
}

/// Checks that the GPU is at least as new as Turing, because CUPTI's range profiler supports no
/// older GPUs.
pub(super) fn turing((major, minor): (i32, i32)) -> Result<(), Fault> {
    match (major, minor) < (7, 5) {
        true => Err(Fault::BeforeTuring { gpu: format!("sm_{major}{minor}") }),
        false => Ok(()),
    }
}

/// The CUPTI host, which translates metric names and evaluates counts.
struct Host<'l> {
    library: &'l Library,
    host: *mut c_void,
    names: Names,
}

impl<'l> Host<'l> {
    fn new(library: &'l Library, target: Target) -> Result<Host<'l>, Fault> {
        // SAFETY: the structures point to data that lives until the end of this function. The
        // library owns the chip's name.
        unsafe {
            library.ask(&mut ProfilerInitialize::default())?;
            let mut asked = DeviceSupported { device: target.device, ..Default::default() };
            library.ask(&mut asked)?;
            supported(library, &asked)?;
            let mut chip = ChipName { index: target.ordinal, ..Default::default() };
            library.ask(&mut chip)?;
            let mut availability = Availability { context: target.context, ..Default::default() };
            library.ask(&mut availability)?;
            let mut image = vec![0; availability.image_size];
            availability.image = image.as_mut_ptr();
            library.ask(&mut availability)?;
            let mut host = HostInitialize {
                chip: chip.name,
                availability: image.as_ptr(),
                ..Default::default()
            };
            library.ask(&mut host)?;
            let host = Host { library, host: host.host, names: Names::new() };
            let mut metrics = AddMetrics {
                host: host.host,
                names: host.names.0.as_ptr(),
                count: METRICS.len(),
                ..Default::default()
            };
            library.ask(&mut metrics)?;
            Ok(host)
        }
    }

    /// Returns the configuration image, which assigns counters to passes.
    fn config(&self) -> Result<Vec<u8>, Fault> {
        let mut size = ConfigSize { host: self.host, ..Default::default() };
        // SAFETY: the host is live, and the image has the size that CUPTI returned.
        unsafe {
            self.library.ask(&mut size)?;
            let mut image = vec![0; size.image_size];
            self.library.ask(&mut Config {
                host: self.host,
                image_size: image.len(),
                image: image.as_mut_ptr(),
                ..Default::default()
            })?;
            Ok(image)
        }
    }

    fn passes(&self, config: &mut [u8]) -> Result<usize, Fault> {
        let mut passes =
            Passes { image_size: config.len(), image: config.as_mut_ptr(), ..Default::default() };
        // SAFETY: the image is live.
        unsafe { self.library.ask(&mut passes)? };
        Ok(passes.passes)
    }

    /// Returns the counts for launch number `range`; launches are numbered from 0.
    fn values(&self, data: &[u8], range: usize) -> Result<Values, Fault> {
        // A value that CUPTI does not write stays NaN.
        let mut values = [f64::NAN; METRICS.len()];
        let mut asked = Evaluate {
            host: self.host,
            data: data.as_ptr(),
            data_size: data.len(),
            range,
            names: self.names.0.as_ptr(),
            count: METRICS.len(),
            values: values.as_mut_ptr(),
            ..Default::default()
        };
        // SAFETY: there are as many values as names, and all of them outlive the call.
        unsafe { self.library.ask(&mut asked)? };
        match values.iter().position(|value| value.is_nan()) {
            None => Ok(values),
            Some(index) => Err(Fault::NotANumber { metric: METRICS[index], launch: range + 1 }),
        }
    }
}

impl Drop for Host<'_> {
    fn drop(&mut self) {
        let mut end = HostDeinitialize { host: self.host, ..Default::default() };
        // SAFETY: the host was initialized once, and is deinitialized only here. A destructor
        // cannot return the error.
        let _ = unsafe { self.library.ask(&mut end) };
    }
}

/// CUPTI's range profiler, which counts. Each launch is one range.
struct Ranges<'l> {
    library: &'l Library,
    ranges: *mut c_void,
    data: Vec<u8>,
}

impl<'l> Ranges<'l> {
    fn new(
        library: &'l Library,
        target: Target,
        config: &[u8],
        launches: usize,
    ) -> Result<Ranges<'l>, Fault> {
        let names = Names::new();
        let mut enable = Enable { context: target.context, ..Default::default() };
        // SAFETY: the context is live. CUPTI writes to the image until the ranges are disabled,
        // which happens before the image is freed. CUPTI reads the configuration only during this
        // call.
        unsafe {
            library.ask(&mut enable)?;
            let mut ranges = Ranges { library, ranges: enable.ranges, data: Vec::new() };
            let mut size = DataSize {
                ranges: ranges.ranges,
                names: names.0.as_ptr(),
                count: METRICS.len(),
                most: launches,
                nodes: u32::try_from(launches).unwrap_or(u32::MAX),
                ..Default::default()
            };
            library.ask(&mut size)?;
            ranges.data = vec![0; size.data_size];
            library.ask(&mut DataInitialize {
                ranges: ranges.ranges,
                data_size: ranges.data.len(),
                data: ranges.data.as_mut_ptr(),
                ..Default::default()
            })?;
            library.ask(&mut SetConfig {
                ranges: ranges.ranges,
                config_size: config.len(),
                config: config.as_ptr(),
                data_size: ranges.data.len(),
                data: ranges.data.as_mut_ptr(),
                range: 1,
                replay: 2,
                most: launches,
                levels: 1,
                least_level: 1,
                level: 1,
                ..Default::default()
            })?;
            Ok(ranges)
        }
    }

    fn start(&self) -> Result<(), Fault> {
        let mut start = Start { ranges: self.ranges, ..Default::default() };
        // SAFETY: the ranges are enabled.
        unsafe { self.library.ask(&mut start) }
    }

    fn stop(&self) -> Result<(), Fault> {
        let mut stop = Stop { ranges: self.ranges, ..Default::default() };
        // SAFETY: the ranges are enabled.
        unsafe { self.library.ask(&mut stop)? };
        match stop.all_submitted {
            1 => Ok(()),
            // CUPTI itself replays the launches, so a single iteration covers all passes.
            _ => self.library.answered(Stop::CALL, 13),
        }
    }

    /// Decodes the counts into the image, and checks that there is one range for each launch.
    fn decode(&self, made: usize) -> Result<(), Fault> {
        let mut decode = Decode { ranges: self.ranges, ..Default::default() };
        let mut info =
            DataInfo { data: self.data.as_ptr(), data_size: self.data.len(), ..Default::default() };
        // SAFETY: the ranges are enabled, and the image is live.
        unsafe {
            self.library.ask(&mut decode)?;
            self.library.ask(&mut info)?;
        }
        match (info.ranges, decode.dropped) {
            (counted, 0) if counted == made => Ok(()),
            (0, 0) => Err(Fault::Deaf { version: self.library.version() }),
            (counted, dropped) => Err(Fault::Ranges { counted, dropped, made }),
        }
    }
}

impl Drop for Ranges<'_> {
    fn drop(&mut self) {
        let mut end = Disable { ranges: self.ranges, ..Default::default() };
        // SAFETY: the profiler was enabled once, and is disabled only here. A destructor cannot
        // return the error.
        let _ = unsafe { self.library.ask(&mut end) };
    }
}

/// The names of metrics as C strings, and pointers to these strings.
struct Names(Vec<*const c_char>, #[expect(dead_code, reason = "owns the strings")] Vec<CString>);

impl Names {
    fn new() -> Names {
        let texts: Vec<CString> =
            METRICS.iter().filter_map(|name| CString::new(*name).ok()).collect();
        Names(texts.iter().map(|text| text.as_ptr()).collect(), texts)
    }
}

/// Checks that a device supports counting; otherwise, the error states the reason.
fn supported(library: &Library, asked: &DeviceSupported) -> Result<(), Fault> {
    const SUPPORTED: u32 = 3;
    match asked {
        DeviceSupported { supported: SUPPORTED, .. } => Ok(()),
        DeviceSupported { virtual_gpu: 1 | 2, .. } => Err(Fault::Virtual),
        DeviceSupported { confidential: 1 | 2, .. } => Err(Fault::Confidential),
        // For devices that CUPTI does not support at all (SLI, WSL and mining GPUs), the result is
        // CUPTI's own error.
        _ => library.answered(DeviceSupported::CALL, 27),
    }
}
