//! The devices on which tests run.

use crate::{
    Element, Error, Step,
    device::{Choice, Device, Settings},
    ptx,
};

/// Opens the interpreter.
pub(super) fn interpreter(settings: &Settings) -> Device {
    Device::open(Choice::Simt, settings).expect("the interpreter needs nothing")
}

/// Opens the first GPU if there is one and it supports the step; otherwise prints why the GPU is
/// skipped.
pub(super) fn gpu(step: &Step) -> Option<Device> {
    let required = std::env::var("REDUCE_REQUIRE_GPU").is_ok_and(|value| !value.is_empty());
    match Device::open(Choice::Cuda(0), &Settings::default()) {
        Ok(device) if runs(step, &device) => return Some(device),
        Ok(device) => eprintln!("skipped on {}: it is too old", device.facts().name),
        Err(reason) => without(step.name, &reason, required),
    }
    None
}

/// Prints why the GPU is skipped. Panics if the machine is required to have a GPU.
fn without(step: &str, reason: &Error, required: bool) {
    assert!(!required, "{step}: REDUCE_REQUIRE_GPU is set, and {reason}");
    eprintln!("skipped on the GPU: {reason}");
}

/// Returns whether a GPU supports a step.
fn runs(step: &Step, device: &Device) -> bool {
    let text = ptx::of(&step.kernel, Element::F32, None).expect("the committed PTX");
    !matches!(device.load(&text), Err(Error::OldGpu { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_skipped_where_a_gpu_is_not_required() {
        without("v0-naive", &Error::NoGpu, false);
    }

    #[test]
    #[should_panic(
        expected = "v0-naive: REDUCE_REQUIRE_GPU is set, and the NVIDIA driver finds no GPU"
    )]
    fn a_machine_that_should_have_a_gpu_does_not_pass_without() {
        without("v0-naive", &Error::NoGpu, true);
    }
}
