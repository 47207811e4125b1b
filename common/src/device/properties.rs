//! Attributes that a GPU reports and that no plan uses.

use cudarc::driver::sys::CUdevice_attribute as Attribute;

use super::Cuda;
use crate::Result;

/// An attribute and its unit.
type Row = (&'static str, Attribute, &'static str);

/// Attributes that no plan uses. The attributes that plans use are in [`Chip`](crate::plan::Chip).
const ROWS: [Row; 18] = [
    ("lanes in a warp", Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE, ""),
    ("maximum threads per block", Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, ""),
    ("blocks in a grid, x", Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, ""),
    ("blocks in a grid, y", Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, ""),
    (
        "registers per multiprocessor",
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
        "",
    ),
    ("maximum registers per block", Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, ""),
    (
        "default maximum shared memory per block",
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
        "B",
    ),
    (
        "shared memory that CUDA reserves for each block",
        Attribute::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
        "B",
    ),
    ("constant memory", Attribute::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, "B"),
    ("L2 cache", Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, "B"),
    (
        "L2 cache that can be set aside for persisting accesses",
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE,
        "B",
    ),
    ("width of the memory bus", Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, "bits"),
    ("memory clock", Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, "kHz"),
    ("maximum clock of the multiprocessors", Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE, "kHz"),
    ("asynchronous copy engines", Attribute::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, ""),
    ("concurrent kernels", Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, "yes/no"),
    ("ECC", Attribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED, "yes/no"),
    ("a time limit for kernels", Attribute::CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, "yes/no"),
];

/// Returns the properties of a GPU; each has a name, a value and a unit.
pub fn properties(gpu: &Cuda) -> Result<Vec<(&'static str, u64, &'static str)>> {
    let row = |(what, attribute, unit): &Row| Ok((*what, gpu.number(*attribute)?, *unit));
    ROWS.iter().map(row).collect()
}
