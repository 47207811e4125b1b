//! A module that is loaded on a GPU, and the functions that were looked up in it.
//!
//! This file contains `unsafe` code, because the driver accepts PTX and returns functions as
//! pointers.
#![expect(unsafe_code, reason = "the driver takes PTX and functions as raw pointers")]

use std::{
    cell::RefCell,
    collections::HashMap,
    ffi::{CString, c_void},
    sync::Arc,
};

use cudarc::driver::{CudaContext, DriverError, result, sys};

use super::{
    driver::failed,
    ptx::{self, Ptx},
};
use crate::{Error, Result, plan::Call};

/// A loaded module and the functions that have been looked up in it so far.
#[derive(Debug)]
pub struct Program {
    module: sys::CUmodule,
    file: String,
    /// The size of each parameter of each entry point, in bytes; `None` for a structure.
    entries: Vec<(String, Vec<Option<u32>>)>,
    functions: RefCell<HashMap<String, sys::CUfunction>>,
    context: Arc<CudaContext>,
}

impl Program {
    /// Loads PTX. The driver, which supports CUDA version `driver`, compiles the PTX for the GPU.
    pub(super) fn load(context: &Arc<CudaContext>, driver: &str, ptx: &Ptx) -> Result<Program> {
        use sys::{CUjit_option as Jit, CUresult as Code};
        let bad = |reason: String| Error::BadPtx { file: ptx.file.clone(), reason };
        let text =
            CString::new(ptx.text.as_str()).map_err(|_| bad("it holds a zero byte".into()))?;
        context.bind_to_thread().map_err(failed("loading PTX"))?;
        let mut log = vec![0u8; 8192];
        let mut options = [Jit::CU_JIT_ERROR_LOG_BUFFER, Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
        let mut module = std::ptr::null_mut();
        // SAFETY: the text ends with a zero byte. The two options describe `log`, which outlives
        // the call.
        let code = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                text.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        let log = String::from_utf8_lossy(log.split(|&byte| byte == 0).next().unwrap_or_default())
            .trim()
            .to_owned();
        match code {
            Code::CUDA_SUCCESS => Ok(Program {
                module,
                file: ptx.file.clone(),
                entries: ptx::entries(&ptx.text)
                    .into_iter()
                    .map(|entry| (entry.clone(), ptx::takes(&ptx.text, &entry)))
                    .collect(),
                functions: RefCell::default(),
                context: context.clone(),
            }),
            Code::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => Err(Error::OldDriver {
                ptx: ptx::version(&ptx.text).to_owned(),
                driver: driver.to_owned(),
            }),
            Code::CUDA_ERROR_NO_BINARY_FOR_GPU | Code::CUDA_ERROR_INVALID_PTX
                if older(&architecture(context), ptx::target(&ptx.text)) =>
            {
                Err(Error::OldGpu {
                    target: ptx::target(&ptx.text).to_owned(),
                    gpu: architecture(context),
                })
            }
            _ if !log.is_empty() => Err(bad(log)),
            other => Err(failed(format!("loading {}", ptx.file))(DriverError(other))),
        }
    }

    /// Returns the number of blocks in the largest cluster for a kernel without shared memory: 16
    /// on an H200, possibly fewer on a MIG slice of an H200.
    fn cluster(&self, call: &Call<'_>) -> Result<u32> {
        let function = self.function(&self.context, call)?;
        let config = sys::CUlaunchConfig {
            gridDimX: call.grid,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: call.block,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: call.shared,
            hStream: std::ptr::null_mut(),
            attrs: std::ptr::null_mut(),
            numAttrs: 0,
        };
        let mut most = 0;
        // SAFETY: the function was found in this module, and the driver writes one integer.
        unsafe { sys::cuOccupancyMaxPotentialClusterSize(&mut most, function, &config) }
            .result()
            .map_err(failed("asking for the largest cluster"))?;
        Ok(most.max(1).unsigned_abs())
    }

    /// Returns the function for the call's entry point, prepared for the call's shared memory. The
    /// caller must launch the function in the same context and with the call's arguments.
    pub(super) fn function(
        &self,
        context: &CudaContext,
        call: &Call<'_>,
    ) -> Result<sys::CUfunction> {
        if context.cu_ctx() != self.context.cu_ctx() {
            return Err(Error::Usage(format!(
                "{} was loaded on another GPU: load it on the GPU that launches it",
                self.file
            )));
        }
        if let Some((_, takes)) = self.entries.iter().find(|(entry, _)| *entry == call.entry) {
            fits(&self.file, &call.entry, takes, call.args.len())?;
        }
        if let Some(&function) = self.functions.borrow().get(&call.entry) {
            return Ok(function);
        }
        let doing = || format!("looking for the kernel `{}`", call.entry);
        let name = CString::new(call.entry.as_str()).map_err(|_| {
            Error::Usage(format!(
                "`{}` is not a valid kernel name: it contains a zero byte",
                call.entry
            ))
        })?;
        // SAFETY: the module is loaded, and the function lives as long as the module.
        let function = match unsafe { result::module::get_function(self.module, name) } {
            Ok(function) => function,
            Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND)) => {
                return Err(Error::NoEntry {
                    file: self.file.clone(),
                    entry: call.entry.clone(),
                    entries: self.entries.iter().map(|(entry, _)| entry.clone()).collect(),
                });
            }
            Err(error) => return Err(failed(doing())(error)),
        };
        let set = |attribute, value| {
            // SAFETY: the function was just found.
            unsafe { result::function::set_function_attribute(function, attribute, value) }
                .map_err(|error| failed(doing())(error))
        };
        let fixed = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        // SAFETY: the function was just found.
        let fixed = unsafe { result::function::get_function_attribute(function, fixed) }
            .map_err(|error| failed(doing())(error))?;
        // Without this attribute, static and dynamic shared memory are 48 KiB at most.
        if fixed as u32 + call.shared > 48 << 10 {
            set(
                sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                call.shared as i32,
            )?;
        }
        if call.cluster > 8 {
            set(
                sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                1,
            )?;
        }
        self.functions.borrow_mut().insert(call.entry.clone(), function);
        Ok(function)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.context.bind_to_thread();
        // SAFETY: the module was loaded once, and is unloaded only here. A destructor cannot return
        // the error.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

/// Returns the GPU's architecture, such as `sm_90`.
pub(super) fn architecture(context: &CudaContext) -> String {
    let (major, minor) = context.compute_capability().unwrap_or_default();
    format!("sm_{major}{minor}")
}

/// Returns the number of blocks in the largest cluster. The result is 1 if the GPU has no clusters.
/// If the driver does not report a number, the result is 8, which every GPU with clusters supports.
pub(super) fn largest_cluster(context: &Arc<CudaContext>, driver: &str) -> u32 {
    let launches = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH;
    if !context.attribute(launches).is_ok_and(|value| value > 0) {
        return 1;
    }
    let (entry, file) = ("nothing".to_owned(), "nothing.ptx".to_owned());
    let ptx = Ptx { text: NOTHING.into(), source: String::new(), origin: file.clone(), file };
    let call = Call { entry, grid: 16, block: 512, cluster: 16, ..Call::default() };
    let asked = Program::load(context, driver, &ptx).and_then(|program| program.cluster(&call));
    asked.unwrap_or(8)
}

/// An empty kernel for queries to the driver.
const NOTHING: &str = ".version 7.8
.target sm_90
.address_size 64
.visible .entry nothing() { ret; }
";

/// Refuses a call that has fewer arguments than the driver would read.
fn fits(file: &str, entry: &str, takes: &[Option<u32>], given: usize) -> Result<()> {
    let structures = takes.iter().filter(|bytes| bytes.is_none()).count();
    if takes.len() == given && structures == 0 {
        return Ok(());
    }
    let but =
        if structures > 0 { format!(", {structures} of them structures") } else { String::new() };
    Err(Error::Usage(format!(
        "the kernel `{entry}` in {file} takes {} parameters{but}, but the number of arguments is {given}: pass one for each parameter",
        takes.len()
    )))
}

/// Returns whether a GPU, such as `sm_90`, is older than the target of a PTX module.
fn older(gpu: &str, target: &str) -> bool {
    let number =
        |name: &str| name.trim_start_matches("sm_").trim_end_matches('a').parse::<u32>().ok();
    number(target) > number(gpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_given_a_number_for_each_parameter() {
        let said = |takes: &[Option<u32>], given| match fits("a.ptx", "reduce", takes, given) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said(&[], 0), "");
        assert_eq!(said(&[Some(8), Some(8), Some(4)], 3), "");
        let nine = said(&[Some(8); 9], 3);
        assert!(
            nine.contains("`reduce` in a.ptx takes 9 parameters, but the number of arguments is 3"),
            "{nine}"
        );
        let structure = said(&[Some(8), None], 2);
        assert!(structure.contains("2 parameters, 1 of them structures"), "{structure}");
    }

    #[test]
    fn a_gpu_is_older_than_the_targets_above_its_own() {
        for (gpu, target, expected) in [
            ("sm_90", "sm_90", false),
            ("sm_90", "sm_90a", false),
            ("sm_90", "sm_60", false),
            ("sm_86", "sm_90a", true),
            ("sm_90", "sm_120", true),
            ("sm_120", "sm_90", false),
            ("sm_90", "unknown", false),
        ] {
            assert_eq!(older(gpu, target), expected, "{gpu} and {target}");
        }
    }
}
