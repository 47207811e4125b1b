//! Tests on a GPU, if there is one. Results must be bit-identical to those of `samebits::host`,
//! even in first calls and in graphs, and invalid calls must return errors. If `REDUCE_REQUIRE_GPU`
//! is set, a missing GPU is an error.

mod bad;
#[path = "../all/drawn.rs"]
mod drawn;
mod exact;
mod forms;
mod graphs;
#[path = "../exact/inputs.rs"]
mod inputs;
mod operations;
mod raw;
#[path = "../exact/reference.rs"]
#[expect(dead_code, reason = "the tests in the interpreter also check products and roots")]
mod reference;
mod results;
mod rows;
mod start;
mod sweep;

use std::{
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop};

/// The lock that makes tests run one at a time, because some tests fill the device's memory or keep
/// the device busy.
static TURN: Mutex<()> = Mutex::new(());

/// A device, for the duration of a test.
struct Gpu {
    context: Arc<CudaContext>,
    /// A stream that does not synchronize with the default stream.
    stream: Arc<CudaStream>,
    _turn: MutexGuard<'static, ()>,
}

/// Returns the first device, or prints the reason if there is none.
fn gpu() -> Option<Gpu> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    match samebits::open(0) {
        Ok(default) => {
            let context = default.context().clone();
            samebits::untracked(&context);
            let stream = context.new_stream().unwrap();
            Some(Gpu { context, stream, _turn: turn })
        }
        Err(reason) if std::env::var("REDUCE_REQUIRE_GPU").is_ok_and(|value| !value.is_empty()) => {
            panic!("a GPU is required: {reason}")
        }
        Err(reason) => {
            eprintln!("skipped on the GPU: {reason}");
            None
        }
    }
}

/// A slice that claims to have any address, length and stream.
struct Claimed<'s> {
    address: u64,
    len: usize,
    stream: &'s Arc<CudaStream>,
}

impl<T> DeviceSlice<T> for Claimed<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.stream
    }
}

impl<T> DevicePtr<T> for Claimed<'_> {
    fn device_ptr<'a>(&'a self, _: &'a CudaStream) -> (u64, SyncOnDrop<'a>) {
        (self.address, SyncOnDrop::Record(None))
    }
}

impl<T> DevicePtrMut<T> for Claimed<'_> {
    fn device_ptr_mut<'a>(&'a mut self, _: &'a CudaStream) -> (u64, SyncOnDrop<'a>) {
        (self.address, SyncOnDrop::Record(None))
    }
}

/// The name of the environment variable that marks a process that runs a single test. Such a test
/// permanently affects the device or the driver of its process.
const ALONE: &str = "REDUCE_TEST_ALONE";

fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

/// Runs one test of this program in its own process, for at most a minute.
fn alone(test: &str, variables: &[(&str, &str)]) {
    let this = std::env::current_exe().unwrap().display().to_string();
    // A program for another architecture runs under the emulator that this variable names.
    let runner = std::env::var("REDUCE_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace().chain([this.as_str()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--exact", test, "--nocapture"]).env(ALONE, "1");
    let mut child = command.envs(variables.iter().copied()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{test} hangs");
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{test}, in its own process: {status}");
}
