//! Tests that invalid calls return errors and do not hang.

use std::{fs, path::Path, process::Command};

use samebits::{Accumulator, Error, Operation, Reducer, shape};

use crate::{
    Claimed, alone,
    drawn::{on_the_host, slice},
    gpu, is_alone, start,
};

#[test]
fn slices_of_another_context() {
    let Some(gpu) = gpu() else { return };
    let other = start::second(&gpu.context).new_stream().unwrap();
    let there = other.clone_htod(&[1.0f32; 100]).unwrap();
    let here = gpu.stream.clone_htod(&[1.0f32; 100]).unwrap();
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    let Err(error) = reducer.sum(&there) else { panic!("a slice of another context is summed") };
    assert!(matches!(error, Error::OtherContext { what: "slice", .. }), "{error}");
    let Err(error) = samebits::max(&other, &here) else { panic!("a slice of another context") };
    assert!(matches!(error, Error::OtherContext { what: "slice", .. }), "{error}");
    let mut result = other.clone_htod(&[0.0f32]).unwrap();
    let Err(error) = reducer.sum_into(&here, &mut result) else { panic!("a result elsewhere") };
    assert!(matches!(error, Error::OtherContext { what: "result", .. }), "{error}");
    assert_eq!(reducer.sum(&here).unwrap(), 100.0);
}

#[test]
fn empty_slices_and_results_without_room() {
    let Some(gpu) = gpu() else { return };
    let empty = gpu.stream.alloc_zeros::<f32>(1).unwrap();
    let none = empty.slice(0..0);
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    assert_eq!(reducer.sum(&none).unwrap(), 0.0);
    assert_eq!(reducer.min(&none).unwrap(), f32::INFINITY);
    assert_eq!(reducer.max(&none).unwrap(), f32::NEG_INFINITY);
    let mut result = gpu.stream.clone_htod(&[f32::NAN]).unwrap();
    reducer.min_into(&none, &mut result).unwrap();
    assert_eq!(gpu.stream.clone_dtoh(&result).unwrap(), [f32::INFINITY]);
    let Err(error) = reducer.sum_into(&none, &mut result.slice_mut(0..0)) else {
        panic!("no room")
    };
    assert!(matches!(error, Error::NoRoom), "{error}");
}

#[test]
fn misaligned_and_too_long_slices() {
    let Some(gpu) = gpu() else { return };
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    let slice = Claimed { address: 1026, len: 10, stream: &gpu.stream };
    let Err(error) = reducer.sum(&slice) else { panic!("an address that is no float's") };
    assert!(matches!(error, Error::Misaligned { address: 1026, .. }), "{error}");
    let len = (shape::LONGEST / 4 + 1) as usize;
    let Err(error) = reducer.sum(&Claimed { address: 1024, len, stream: &gpu.stream }) else {
        panic!("more than a kernel counts")
    };
    assert!(matches!(error, Error::TooLong { .. }), "{error}");
}

/// Checks that a kernel that reads invalid memory causes an error, although it never writes a
/// result.
#[test]
fn a_failed_launch_does_not_hang() {
    if !is_alone() {
        return alone("bad::a_failed_launch_does_not_hang", &[]);
    }
    let Some(gpu) = gpu() else { return };
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    for len in [1000, 30_000, 1_400_003] {
        let slice = Claimed { address: 1 << 20, len, stream: &gpu.stream };
        let Err(error) = reducer.sum(&slice) else { panic!("{len} elements of invalid memory") };
        assert!(matches!(error, Error::Driver { .. }), "{error}");
        // Neither the second call nor the end of the program may hang.
        assert!(reducer.sum(&slice).is_err());
    }
    drop(reducer);
}

#[test]
fn a_full_device_is_an_error() {
    if !is_alone() {
        // The test runs in its own process, because other tests leave free memory in the device's
        // pools.
        let _gpu = gpu();
        return alone("bad::a_full_device_is_an_error", &[]);
    }
    let Some(gpu) = gpu() else { return };
    let values = slice::<f32>(1_400_003, Operation::Sum);
    let device = gpu.stream.clone_htod(&values).unwrap();
    let mut all = Vec::new();
    let mut bytes = 1usize << 36;
    while bytes >= 1 << 12 {
        match gpu.stream.alloc_zeros::<u8>(bytes) {
            Ok(slice) => all.push(slice),
            Err(_) => bytes /= 2,
        }
    }
    gpu.stream.synchronize().unwrap();
    let reducer = Reducer::<f32>::new(&gpu.stream).unwrap();
    match reducer.sum(&device) {
        // There was still enough memory for the reducer's state and for a kernel.
        Ok(sum) => assert_eq!(sum.to_bits64(), on_the_host(&values, Operation::Sum)),
        Err(error) => eprintln!("on a full device: {error}"),
    }
    drop(all);
    gpu.stream.synchronize().unwrap();
    let sum = reducer.sum(&device).unwrap();
    assert_eq!(sum.to_bits64(), on_the_host(&values, Operation::Sum));
}

/// Checks a `libcuda.so.1` that is a library but not a driver, as in containers without the NVIDIA
/// Container Toolkit.
#[test]
fn an_empty_driver_is_an_error() {
    if is_alone() {
        let Err(error) = samebits::open(0) else { panic!("an empty library has a device") };
        assert!(matches!(error, Error::NoSymbol { .. }), "{error}");
        assert!(!samebits::has_driver());
        return;
    }
    if !cfg!(target_os = "linux") || std::env::var_os("REDUCE_RUNNER").is_some() {
        return eprintln!(
            "skipped: only this machine's compiler on Linux can make an empty library"
        );
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("empty-driver");
    if fs::create_dir_all(&folder).is_err() {
        return eprintln!("skipped: no folder for an empty library");
    }
    let (source, library) = (folder.join("empty.c"), folder.join("libcuda.so.1"));
    fs::write(&source, "int nothing_here;\n").unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    if !compiled.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no C compiler makes an empty library");
    }
    fs::copy(&library, folder.join("libcuda.so")).unwrap();
    let folder = folder.to_str().unwrap();
    alone("bad::an_empty_driver_is_an_error", &[("LD_LIBRARY_PATH", folder)]);
}

#[test]
fn no_such_device() {
    let Some(_gpu) = gpu() else { return };
    let Err(error) = samebits::open(99) else { panic!("there are a hundred devices") };
    assert!(matches!(error, Error::NoDevice { ordinal: 99, .. }), "{error}");
}

#[test]
fn a_reducer_can_be_moved_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Reducer<f32>>();
    is_send::<Error>();
}
