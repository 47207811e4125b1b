//! Finds special registers by name.

use crate::inst::Special;

/// Returns the special register with this name, if there is one. The module does not define the
/// name.
pub(super) fn special(name: &str) -> Option<Special> {
    let axis = |text: &str| match text {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((base, tail)) = name.split_once('.') {
        let axis = axis(tail)?;
        return Some(match base {
            "%tid" => Special::Tid(axis),
            "%ntid" => Special::Ntid(axis),
            "%ctaid" => Special::Ctaid(axis),
            "%nctaid" => Special::Nctaid(axis),
            "%clusterid" => Special::ClusterId(axis),
            "%nclusterid" => Special::NClusterId(axis),
            "%cluster_ctaid" => Special::ClusterCtaid(axis),
            "%cluster_nctaid" => Special::ClusterNctaid(axis),
            _ => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NWarpId,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NSmId,
        "%gridid" => Special::GridId,
        "%lanemask_eq" => Special::LaneMaskEq,
        "%lanemask_le" => Special::LaneMaskLe,
        "%lanemask_lt" => Special::LaneMaskLt,
        "%lanemask_ge" => Special::LaneMaskGe,
        "%lanemask_gt" => Special::LaneMaskGt,
        "%clock" => Special::Clock,
        "%clock_hi" => Special::ClockHi,
        "%clock64" => Special::Clock64,
        "%globaltimer" => Special::GlobalTimer,
        "%globaltimer_lo" => Special::GlobalTimerLo,
        "%globaltimer_hi" => Special::GlobalTimerHi,
        "%cluster_ctarank" => Special::ClusterCtaRank,
        "%cluster_nctarank" => Special::ClusterNctaRank,
        "%is_explicit_cluster" => Special::IsExplicitCluster,
        "%dynamic_smem_size" => Special::DynamicSmemSize,
        "%total_smem_size" => Special::TotalSmemSize,
        "%aggr_smem_size" => Special::AggrSmemSize,
        // On the GPUs that were tested, offsets 0 and 1 are the start of the reserved area.
        "%reserved_smem_offset_begin" | "%reserved_smem_offset_0" | "%reserved_smem_offset_1" => {
            Special::ReservedBegin
        }
        "%reserved_smem_offset_end" => Special::ReservedEnd,
        "%reserved_smem_offset_cap" => Special::ReservedCap,
        "WARP_SZ" => Special::NWarpSize,
        _ => return None,
    })
}

/// Returns the error for an unknown name.
pub(super) fn unknown(name: &str) -> String {
    match name.strip_prefix("%envreg") {
        Some(n) if n.parse::<u32>().is_ok() => format!(
            "reads `{name}`, which the driver sets for a cooperative launch (`this_grid()`): \
             cooperative launches are not supported; launch one kernel for each phase instead"
        ),
        _ => format!("reads `{name}`, which is not a register in scope"),
    }
}

/// Returns whether a name is an offset in the system's reserved shared memory.
pub(super) fn is_reserved(name: &str) -> bool {
    name.starts_with("%reserved_smem_offset_")
}
