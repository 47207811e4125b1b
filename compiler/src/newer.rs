//! Names that CUDA C++ defines only for later architectures. A compiler calls such a name undefined
//! and does not say which architecture has it.

/// The names, and the oldest architecture for which they are defined.
const NAMES: [(&[&str], u32); 5] = [
    (&["__dp4a", "__dp2a_lo", "__dp2a_hi"], 61),
    (&["__nanosleep", "__match_any_sync", "__match_all_sync", "labeled_partition"], 70),
    (
        &[
            "__reduce_add_sync",
            "__reduce_min_sync",
            "__reduce_max_sync",
            "__reduce_and_sync",
            "__reduce_or_sync",
            "__reduce_xor_sync",
        ],
        80,
    ),
    (&["this_cluster", "cluster_group", "__isClusterShared", "__cluster_dims__"], 90),
    (
        &[
            "__clusterDim",
            "__clusterDimIsSpecified",
            "__clusterGridDimInClusters",
            "__clusterIdx",
            "__clusterRelativeBlockIdx",
            "__clusterRelativeBlockRank",
            "__clusterSizeInBlocks",
            "__cluster_barrier_arrive",
            "__cluster_barrier_arrive_relaxed",
            "__cluster_barrier_wait",
            "__cluster_map_shared_rank",
            "__cluster_query_shared_rank",
        ],
        90,
    ),
];

/// The types of the arguments for which an atomic exists, as NVRTC writes them, and the oldest
/// architecture.
const ATOMICS: [(&str, &str, u32); 5] = [
    ("atomicAdd", "__half", 70),
    ("atomicAdd", "__nv_bfloat16", 70),
    ("atomicCAS", "unsigned short", 70),
    ("atomicAdd", "float2", 90),
    ("atomicAdd", "float4", 90),
];

/// Says which architecture a kernel must name, if a compiler's messages reject a name that is
/// defined only for later architectures than the one for which the kernel is compiled.
///
/// If the messages reject several such names, the latest of the architectures is the one that the
/// kernel needs.
pub fn newer(log: &str, architecture: u32) -> Option<String> {
    let names =
        NAMES.iter().flat_map(|(names, needs)| names.iter().map(move |name| (*name, *needs)));
    let undefined = names
        .filter(|(name, _)| log.lines().any(|line| rejects(line, name)))
        .map(|(name, needs)| (format!("`{name}`"), needs));
    let atomics = ATOMICS
        .iter()
        .filter(|(name, of, _)| has_no_overload(log, name, of))
        .map(|(name, of, needs)| (format!("`{name}` of `{of}`"), *needs));
    // clang's prelude has no names of clusters.
    let clang = log.contains("undeclared identifier");
    let (name, needs) = undefined
        .chain(atomics)
        .filter(|(_, needs)| *needs > architecture && !(clang && *needs >= 90))
        .max_by_key(|(_, needs)| *needs)?;
    Some(format!(
        "{name} exists from compute_{needs} on, but the kernel is compiled for \
         compute_{architecture}: write the line `// Needs compute_{needs}: why.` in the comment at \
         the top of the kernel"
    ))
}

/// Returns whether a line of a compiler's messages calls a name undefined.
fn rejects(line: &str, name: &str) -> bool {
    let quoted = line.contains(&format!("\"{name}\"")) || line.contains(&format!("'{name}'"));
    let words = ["is undefined", "has no member", "undeclared identifier"];
    let unsupported = format!("error: {name} is not supported for this GPU architecture");
    quoted && line.contains("error") && words.iter().any(|word| line.contains(word))
        || line.contains(&unsupported)
}

/// Returns whether NVRTC finds no atomic for a pointer to a type.
fn has_no_overload(log: &str, name: &str, of: &str) -> bool {
    let missing = format!("no instance of overloaded function \"{name}\"");
    let types = format!("argument types are: ({of} *, {of}");
    log.lines().zip(log.lines().skip(1)).any(|(line, next)| {
        let rest = next.trim_start().strip_prefix(&types);
        line.contains(&missing) && rest.is_some_and(|rest| rest.starts_with([')', ',']))
    })
}

#[cfg(test)]
mod tests {
    use super::newer;

    fn undefined(name: &str) -> String {
        format!("k.cu(3): error: identifier \"{name}\" is undefined\n  x = {name}(1);\n      ^\n")
    }

    #[test]
    fn the_architecture_that_an_undefined_name_needs_is_named() {
        for (name, needs) in [
            ("__match_any_sync", 70),
            ("__nanosleep", 70),
            ("__reduce_add_sync", 80),
            ("__cluster_barrier_arrive_relaxed", 90),
        ] {
            let said = newer(&undefined(name), 60).unwrap_or_default();
            assert!(
                said.starts_with(&format!("`{name}` exists from compute_{needs} on"))
                    && said.contains(&format!("write the line `// Needs compute_{needs}: why.`")),
                "{said}"
            );
            assert_eq!(newer(&undefined(name), needs), None);
        }
        let dims = "k.cu(3): error: __cluster_dims__ is not supported for this GPU architecture";
        assert!(newer(dims, 60).is_some_and(|said| said.contains("compute_90: why.")));
        // The latest architecture is the one that the kernel needs.
        let both = undefined("__reduce_add_sync") + &undefined("__match_any_sync");
        assert!(newer(&both, 60).is_some_and(|said| said.contains("compute_80: why.")), "{both}");
        assert_eq!(newer(&undefined("__shfl_down"), 60), None);
        assert_eq!(newer("k.cu(3): warning: variable \"__nanosleep\" is unused", 60), None);
    }

    #[test]
    fn members_of_cooperative_groups_and_overloads_are_names_too() {
        let member =
            "k.cu(2): error: namespace \"cooperative_groups\" has no member \"this_cluster\"";
        assert!(newer(member, 80).is_some_and(|said| said.contains("`// Needs compute_90: why.`")));
        let atomic = |of: &str| {
            format!(
                "k.cu(1): error: no instance of overloaded function \"atomicAdd\" matches the \
                 argument list\n            argument types are: ({of} *, {of})\n"
            )
        };
        let said = newer(&atomic("__half"), 60).unwrap_or_default();
        assert!(said.starts_with("`atomicAdd` of `__half` exists from compute_70 on"), "{said}");
        assert!(newer(&atomic("float4"), 80).is_some());
        assert_eq!(newer(&atomic("short"), 60), None);
    }

    /// clang does not define the names of clusters for any architecture.
    #[test]
    fn clang_needs_a_name_of_its_prelude() {
        let said = |name: &str| format!("k.cu:3:9: error: use of undeclared identifier '{name}'");
        assert!(newer(&said("__reduce_add_sync"), 70).is_some());
        assert_eq!(newer(&said("__clusterIdx"), 60), None);
    }
}
