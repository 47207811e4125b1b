//! Tests with a fake CUPTI, the library in `common/tests/fake/cupti.rs`, which fails on demand.
#![expect(unsafe_code, reason = "the library's functions are called")]

use std::{
    env,
    env::consts::{ARCH, DLL_PREFIX, DLL_SUFFIX, OS},
    ffi::{CString, c_char, c_void},
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, OnceLock, PoisonError},
};

use compiler::find::COMPANIONS;

use super::{
    Fault, Library,
    activity::{Kind, Place, Recording},
    counters::{METRICS, Session, Target, Values, turing},
};
use crate::{Error, Result};

/// A copy of the fake library, used by one test.
struct Fake {
    library: &'static Library,
    folder: PathBuf,
}

/// Returns the fake library, built by the compiler that built this test; `None` if that compiler
/// builds for another system.
fn built() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let host = Command::new("rustc").arg("-vV").output().ok()?;
        let host = String::from_utf8_lossy(&host.stdout).into_owned();
        let host = host.lines().find_map(|line| line.strip_prefix("host: "))?;
        let system = if cfg!(target_os = "macos") { "darwin" } else { OS };
        if !(host.starts_with(ARCH) && host.contains(system)) {
            return None;
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/cupti.rs");
        let name = format!("{DLL_PREFIX}fake_cupti_{}{DLL_SUFFIX}", std::process::id());
        let library = env::temp_dir().join(name);
        let flags = ["--edition=2024", "--crate-type=cdylib", "--crate-name=fake_cupti", "-o"];
        let output = Command::new("rustc").args(flags).arg(&library).arg(source).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(library)
    };
    let built = BUILT.get_or_init(build).as_deref();
    if built.is_none() {
        eprintln!("skipped: rustc cannot build a library for this system here");
    }
    built
}

/// Copies the library and its companions into a folder whose name contains `name`.
fn folder(name: &str) -> Option<(PathBuf, PathBuf)> {
    let built = built()?;
    let folder = env::temp_dir().join(format!("Gerät cupti {name} {}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for companion in COMPANIONS {
        fs::copy(built, folder.join(companion)).unwrap();
    }
    let library = folder.join(format!("{DLL_PREFIX}cupti{DLL_SUFFIX}"));
    fs::copy(built, &library).unwrap();
    Some((folder, library))
}

impl Fake {
    fn new(name: &str) -> Option<Fake> {
        let (folder, library) = folder(name)?;
        Some(Fake { library: Library::open(&library).unwrap(), folder })
    }

    fn says(&self, text: &str) -> &Fake {
        let text = CString::new(text).unwrap();
        type Says = unsafe extern "C" fn(*const c_char);
        // SAFETY: the signature is that of the fake's function.
        unsafe { self.library.function::<Says>("fake_says").unwrap()(text.as_ptr()) };
        self
    }

    /// Returns the number of objects that were opened but not closed.
    fn open(&self) -> i32 {
        // SAFETY: the signature is that of the fake's function.
        unsafe { self.library.function::<extern "C" fn() -> i32>("fake_open").unwrap()() }
    }

    fn session(&self) -> Result<Session<'static>, Fault> {
        let context = std::ptr::dangling_mut::<c_void>();
        Session::with(self.library, Target { context, device: 0, ordinal: 0 })
    }

    fn count(&self, launches: usize) -> Result<Vec<Values>> {
        self.session()?.count(launches, || Ok(()))
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        // Windows does not delete a library that is still loaded.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn counts_are_those_of_their_launch_and_metric() {
    let Some(fake) = Fake::new("counts") else { return };
    let session = fake.session().unwrap();
    assert_eq!((session.version().as_str(), session.passes), ("13.5", 4));
    for launches in [3, 1] {
        let counted = session.count(launches, || Ok(())).unwrap();
        assert_eq!((counted.len(), fake.open()), (launches, 1), "the session alone stays open");
        for (range, values) in counted.iter().enumerate() {
            let expected: Vec<f64> =
                (0..METRICS.len()).map(|i| (1000 * range + i) as f64).collect();
            assert_eq!(values[..], expected);
        }
    }
    drop(session);
    assert_eq!(fake.open(), 0);
}

#[test]
fn a_launch_that_fails_is_its_own_error_and_leaves_nothing_open() {
    let Some(fake) = Fake::new("launch") else { return };
    let failed = || Err(Error::Cuda { doing: "launching".into(), text: "illegal address".into() });
    let session = fake.says("cuptiRangeProfilerStop=999").session().unwrap();
    let error = session.count(1, failed).unwrap_err();
    assert_eq!(error.to_string(), "launching: illegal address");
    drop(session);
    assert_eq!(fake.open(), 0);
}

/// Faults to inject into the library, each with a part of the expected message.
const FAULTS: [(&str, &str); 24] = [
    ("cuptiProfilerGetCounterAvailability=35", "NVreg_RestrictProfilingToAdminUsers=0"),
    ("cuptiRangeProfilerEnable=35", "run this as root"),
    ("cuptiRangeProfilerStart=35", "/proc/driver/nvidia/params"),
    ("cuptiRangeProfilerStart=26", "such as ncu, nsys, compute-sanitizer or DCGM"),
    ("cuptiRangeProfilerEnable=39", "another profiler holds"),
    ("cuptiProfilerDeviceSupported=43", "this is a MIG slice"),
    ("cuptiProfilerInitialize=33", "this is a virtual GPU"),
    ("cuptiRangeProfilerStart=40", "this is a virtual GPU"),
    ("all=1 vgpu=2", "this is a virtual GPU"),
    ("cuptiRangeProfilerEnable=41", "in confidential mode"),
    ("all=1 confidential=1", "in confidential mode"),
    ("all=1 sli=1", "CUPTI 13.5 does not work with this GPU or its driver"),
    ("cuptiProfilerHostInitialize=15", "lacks its companion"),
    ("nan=3", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum` of launch 1"),
    ("dropped=1", "counted 2 of 2 launches and dropped 1"),
    ("ranges=1", "counted 1 of 2 launches and dropped 0"),
    ("ranges=0", "CUPTI 13.5 recorded none of the launches"),
    ("unsubmitted=1", "cuptiRangeProfilerStop returned 13"),
    ("cuptiProfilerHostConfigAddMetrics=17", "returned 17 (CUPTI_ERROR_OF_SOME_KIND)"),
    ("cuptiRangeProfilerSetConfig=10", "cuptiRangeProfilerSetConfig returned 10"),
    (
        "cuptiRangeProfilerSetConfig=10 nameless=1",
        "cuptiRangeProfilerSetConfig returned 10 (no name)",
    ),
    ("cuptiRangeProfilerStart=15", "cuptiRangeProfilerStart returned 15"),
    ("cuptiRangeProfilerDecodeData=7 version=28", "CUPTI API 28 does not work"),
    ("cuptiProfilerHostEvaluateToGpuValues=999", "cuptiProfilerHostEvaluateToGpuValues returned"),
];

#[test]
fn every_fault_gives_its_sentence_and_closes_everything() {
    let Some(fake) = Fake::new("faults") else { return };
    for (fault, part) in FAULTS {
        let error = fake.says(fault).count(2).expect_err(fault);
        let sentence = error.to_string();
        assert!(sentence.contains(part), "{fault}: {sentence}");
        assert!(matches!(error, Error::Cupti(_)) && error.exit_code() == 2, "{fault}: {error:?}");
        assert_eq!((sentence.lines().count(), fake.open()), (1, 0), "{fault}");
    }
    fake.says("").count(2).unwrap();
}

#[test]
fn a_missing_library_and_a_broken_one_give_different_errors() {
    let nowhere = Path::new("nowhere/libcupti.so").to_owned();
    let missing = Library::first([nowhere.clone()].into_iter()).unwrap_err();
    assert_eq!(missing, Fault::NoLibrary);
    assert!(
        missing
            .to_string()
            .starts_with("CUPTI, which `--counters` and `--profile` need, is not installed: "),
        "{missing}"
    );
    let Some((folder, library)) = folder("none") else { return };
    fs::write(&library, "no library").unwrap();
    let broken = Library::first([nowhere, library.clone()].into_iter()).unwrap_err();
    assert!(matches!(broken, Fault::Unloadable { .. }), "{broken}");
    assert!(broken.to_string().starts_with(&library.display().to_string()), "{broken}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_first_library_that_can_be_loaded_is_taken() {
    let Some((folder, library)) = folder("first") else { return };
    let broken = folder.join("broken.so");
    fs::write(&broken, "no library").unwrap();
    let found = Library::first([broken, library].into_iter()).unwrap();
    assert_eq!(found.version(), "13.5");
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn missing_companions_are_reported_before_any_call() {
    let Some((folder, library)) = folder("alone") else { return };
    fs::write(folder.join(COMPANIONS[1]), "no library").unwrap();
    let library = Library::open(&library).unwrap();
    let fake = Fake { library, folder };
    let said = fake.count(1).unwrap_err().to_string();
    assert!(said.contains(&format!("lacks its companion {}", COMPANIONS[1])), "{said}");
    assert!(said.contains("`cargo x cupti`"), "{said}");
}

#[test]
fn a_library_from_before_12_6_is_too_old() {
    // This library exists on every machine with this operating system, but is not CUPTI.
    let name = match () {
        () if cfg!(windows) => "kernel32.dll",
        () if cfg!(target_os = "macos") => "libSystem.B.dylib",
        () => "libc.so.6",
    };
    let said = Library::open(Path::new(name)).unwrap().young().unwrap_err().to_string();
    assert!(said.starts_with(name) && said.contains("CUDA 12.6 introduced"), "{said}");
    let Some(fake) = Fake::new("young") else { return };
    fake.library.young().unwrap();
}

#[test]
fn a_gpu_before_turing_is_refused_without_a_call() {
    for (capability, gpu) in [((7, 0), "sm_70"), ((6, 1), "sm_61"), ((7, 2), "sm_72")] {
        let said = turing(capability).unwrap_err().to_string();
        assert!(said.starts_with(&format!("this GPU is {gpu}, but CUPTI reads")), "{said}");
    }
    assert!([(7, 5), (8, 0), (9, 0), (12, 0)].map(turing).iter().all(Result::is_ok));
}

/// A program can make only one recording at a time, so the tests take turns.
static ONE: Mutex<()> = Mutex::new(());

#[test]
fn records_become_events_by_time() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(fake) = Fake::new("events") else { return };
    let recording = Recording::with(fake.library).unwrap();
    assert_eq!(fake.open(), 4, "kernels, copies, fills, calls");
    let (events, version) = recording.finish().unwrap();
    let told: Vec<_> =
        events.iter().map(|e| (e.place, e.kind, &*e.name, e.start, e.end, e.amount)).collect();
    let (host, stream) = (Place::Host(4711), Place::Stream(13));
    assert_eq!(
        told,
        [
            (host, Kind::Call, "cuLaunchKernel", 1000, 1700, 0),
            (stream, Kind::Copy, "[memcpy HtoD]", 2000, 3000, 4096),
            (stream, Kind::Fill, "[memset]", 3500, 3600, 512),
            (stream, Kind::Kernel, "reduce", 5000, 9000, 40),
        ]
    );
    assert_eq!((fake.open(), version.as_str()), (0, "13.5"));
    // If CUPTI has no name for a function, the event shows the function's number.
    let recording = Recording::with(fake.says("nameless=1").library).unwrap();
    let (events, _) = recording.finish().unwrap();
    assert_eq!(&*events[0].name, "function 307");
    for (way, name) in [(2, "[memcpy DtoH]"), (8, "[memcpy DtoD]"), (3, "[memcpy]")] {
        let recording = Recording::with(fake.says(&format!("way={way}")).library).unwrap();
        let (events, _) = recording.finish().unwrap();
        assert_eq!(&*events[1].name, name);
    }
}

#[test]
fn incomplete_and_refused_recordings_are_errors() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(fake) = Fake::new("short") else { return };
    let recording = Recording::with(fake.library).unwrap();
    fake.says("dropped=3");
    let said = recording.finish().unwrap_err().to_string();
    assert!(said.starts_with("CUPTI dropped 3 records"), "{said}");
    let begun = Recording::with(fake.says("cuptiActivityEnable=39").library);
    let said = begun.unwrap_err().to_string();
    assert!(said.starts_with("another profiler holds this GPU"), "{said}");
    let recording = Recording::with(fake.says("").library).unwrap();
    fake.says("cuptiActivityFlushAll=999");
    let said = recording.finish().unwrap_err().to_string();
    assert!(said.contains("cuptiActivityFlushAll returned 999"), "{said}");
}
