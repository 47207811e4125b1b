//! Tests the loading of NCCL. The library is either missing or a fake, which needs no GPU and is
//! compiled with the system's C compiler.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "calls counters of the fake")]

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use many::nccl::{Comm, Nccl};

/// Compiles the fake with these definitions, in a separate folder.
fn fake(name: &str, definitions: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join("libnccl.so.2");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/nccl.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(source).args(definitions);
    let done = compiler.status().expect("a C compiler, as cc");
    assert!(done.success(), "{compiler:?}");
    library
}

fn says(library: &Path) -> String {
    Nccl::find(Some(library)).unwrap_err().to_string()
}

#[test]
fn a_library_that_is_too_old() {
    let library = fake("old", &["-DVERSION=2708"]);
    let error = says(&library);
    assert!(error.contains("is NCCL 2.7.8, but 2.18.0 or newer is needed"), "{error}");
    assert!(error.contains("`cargo x nccl`"), "{error}");
}

#[test]
fn a_library_that_lacks_a_function() {
    let error = says(&fake("lacks", &["-DNO_INIT"]));
    assert!(error.contains("NCCL 2.28.9 but has no ncclCommInitRankConfig"), "{error}");
}

#[test]
fn a_library_that_is_not_nccl() {
    let error = says(&fake("another", &["-DncclGetVersion=other"]));
    assert!(error.contains("has no ncclGetVersion, so it is not NCCL"), "{error}");
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    assert!(says(&text).starts_with("NCCL was not found at"), "{}", says(&text));
}

fn join(library: &Path, timeout: Duration) -> many::Result<Vec<Comm>> {
    let nccl = Nccl::find(Some(library)).unwrap();
    assert_eq!(nccl.version(), 22_809);
    let id = nccl.id().unwrap();
    Comm::join(&nccl, &id, 2, &[(0, None), (1, None)], timeout, &|| Ok(()))
}

/// Returns the value of one of the fake's counters. A process loads a library only once, so this is
/// the counter of the instance under test.
fn counted(library: &Path, what: &[u8]) -> i32 {
    // SAFETY: the fake has no initializers, and this function has no parameters.
    let library = unsafe { libloading::Library::new(library) }.unwrap();
    // SAFETY: the fake has no initializers, and this function has no parameters.
    unsafe { library.get::<extern "C" fn() -> i32>(what).unwrap()() }
}

/// Returns the number of communicators that were aborted.
fn aborted(library: &Path) -> i32 {
    counted(library, b"fakeAborted\0")
}

/// Checks that collectives use a blocking communicator only if ranks connect when they join, as
/// they do in all versions before 2.22. If ranks were not connected, a call could wait for a lost
/// rank.
#[test]
fn collectives_block_only_if_ranks_are_connected() {
    for (name, version, split) in [("early", 21_800, 2), ("late", 22_200, 0)] {
        let library = fake(name, &[&format!("-DVERSION={version}")]);
        let nccl = Nccl::find(Some(&library)).unwrap();
        let id = nccl.id().unwrap();
        let (ranks, timeout) = ([(0, None), (1, None)], Duration::from_secs(5));
        let comms = Comm::join(&nccl, &id, 2, &ranks, timeout, &|| Ok(())).unwrap();
        comms.iter().for_each(|comm| comm.check().unwrap());
        assert_eq!(counted(&library, b"fakeSplit\0"), split, "{name}");
        drop(comms);
        assert_eq!(aborted(&library), 0);
    }
}

#[test]
fn a_library_that_works() {
    let library = fake("well", &[]);
    let comms = join(&library, Duration::from_secs(5)).unwrap();
    assert_eq!(comms.len(), 2);
    comms.iter().for_each(|comm| comm.check().unwrap());
}

#[test]
fn a_communicator_that_is_never_ready_is_aborted_in_time() {
    let library = fake("never", &["-DSTATE=7"]);
    // The library is kept open, so that its counters persist.
    let _kept = Nccl::find(Some(&library)).unwrap();
    let start = Instant::now();
    let error = join(&library, Duration::from_millis(300)).unwrap_err().to_string();
    assert!(error.contains("joining the other ranks: NCCL was not ready within"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(aborted(&library), 2);
}

#[test]
fn an_asynchronous_error_is_reported() {
    let error = join(&fake("remote", &["-DSTATE=6"]), Duration::from_secs(5)).unwrap_err();
    assert_eq!(error.to_string(), "NCCL reports that another rank is lost");
    let error = join(&fake("system", &["-DSTATE=2"]), Duration::from_secs(5)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("unhandled system error") && text.contains("no further details"),
        "{text}"
    );
}

/// Checks that a failure to split off the second communicator is an error, and that the first
/// communicator is used if NCCL returns no second one.
#[test]
fn a_communicator_that_is_not_split() {
    let join = |library: &Path| {
        let nccl = Nccl::find(Some(library)).unwrap();
        let (id, ranks) = (nccl.id().unwrap(), [(0, None), (1, None)]);
        Comm::join(&nccl, &id, 2, &ranks, Duration::from_secs(5), &|| Ok(()))
    };
    let library = fake("split", &["-DVERSION=21800", "-DNO_SPLIT=2"]);
    let _kept = Nccl::find(Some(&library)).unwrap();
    let error = join(&library).unwrap_err().to_string();
    assert!(error.contains("joining the other ranks") && error.contains("system error"), "{error}");
    assert_eq!(aborted(&library), 2);
    let library = fake("nothing", &["-DVERSION=21800", "-DNO_SPLIT=0"]);
    join(&library).unwrap().iter().for_each(|comm| comm.check().unwrap());
}

/// Checks that a wait for NCCL ends soon after a rank is lost, long before the timeout.
#[test]
fn a_lost_rank_ends_the_wait() {
    let library = fake("gone", &["-DSTATE=7"]);
    let nccl = Nccl::find(Some(&library)).unwrap();
    let start = Instant::now();
    let gone = || {
        let over = start.elapsed() > Duration::from_millis(50);
        if over { Err(many::Error::Gone("rank 1 is gone".into())) } else { Ok(()) }
    };
    let id = nccl.id().unwrap();
    let joined = Comm::join(&nccl, &id, 2, &[(0, None)], Duration::from_secs(30), &gone);
    assert_eq!(joined.unwrap_err().to_string(), "rank 1 is gone");
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(aborted(&library), 1);
}

#[test]
fn an_id_of_the_wrong_length() {
    let nccl = Nccl::find(Some(&fake("id", &[]))).unwrap();
    let joined = Comm::join(&nccl, &[1, 2], 2, &[(0, None)], Duration::from_secs(1), &|| Ok(()));
    assert!(joined.unwrap_err().to_string().contains("128 bytes, but rank 0 sent 2"));
}
