//! The oldest target on which an instruction exists. `ptxas` refuses an instruction that the
//! module's target lacks; NVRTC copies inline assembly without looking at it.

use super::{Decoded, Decoder};

impl Decoder<'_, '_> {
    /// Refuses an instruction that the module's target lacks.
    pub(super) fn check_target(&self, opcode: &str) -> Decoded<()> {
        let needs = needs(opcode);
        match self.target() {
            Some(target) if target < needs => Err(format!(
                "exists from sm_{needs} on, but the module's target is sm_{target}: compile it for \
                 sm_{needs} (in a kernel of this project, write `// Needs compute_{needs}: why.` in \
                 the comment at the top)"
            )),
            _ => Ok(()),
        }
    }

    /// Returns the number in the module's target, such as 60 for `sm_60`; `None` for a target with
    /// a letter, which has the features of one architecture only.
    pub(super) fn target(&self) -> Option<u32> {
        self.text.target.strip_prefix("sm_").and_then(|number| number.parse().ok())
    }
}

/// Returns the oldest target with an instruction that synchronizes, copies or communicates; 0 for
/// all others. PTX ISA, "Target ISA Notes" of each instruction.
fn needs(opcode: &str) -> u32 {
    let has = |word: &str| opcode.split('.').any(|part| part == word);
    match opcode.split('.').next().unwrap_or(opcode) {
        "elect" | "mapa" | "getctarank" | "griddepcontrol" | "setmaxnreg" => 90,
        "barrier" if has("cluster") => 90,
        "mbarrier" if has("try_wait") || has("expect_tx") || has("cluster") => 90,
        "mbarrier" | "redux" | "createpolicy" => 80,
        "cp" if has("bulk") => 90,
        "cp" if has("async") => 80,
        "fence" if has("cluster") || has("proxy") || has("mbarrier_init") => 90,
        "ld" | "st" | "atom" | "red" if has("cluster") || has("async") => 90,
        "fence" | "match" | "nanosleep" => 70,
        // Orders such as `.relaxed` exist from sm_70 on, but clang 16 compiles atomics to them for
        // older targets too.
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::needs;

    #[test]
    fn each_instruction_has_its_oldest_target() {
        for (opcode, target) in [
            ("ld.global.v4.f32", 0),
            ("ld.volatile.shared.u32", 0),
            ("ld.acquire.gpu.u32", 0),
            ("atom.global.add.u32", 0),
            ("atom.acq_rel.cluster.global.add.u32", 90),
            ("membar.gl", 0),
            ("fence.acq_rel.gpu", 70),
            ("fence.proxy.async.shared::cta", 90),
            ("bar.warp.sync", 0),
            ("barrier.sync", 0),
            ("barrier.cluster.arrive.aligned", 90),
            ("mbarrier.init.shared.b64", 80),
            ("mbarrier.try_wait.parity.shared::cta.b64", 90),
            ("cp.async.cg.shared.global", 80),
            ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", 90),
            ("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32", 90),
            ("redux.sync.add.s32", 80),
            ("shfl.sync.down.b32", 0),
        ] {
            assert_eq!(needs(opcode), target, "{opcode}");
        }
    }
}
