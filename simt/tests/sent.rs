//! Tests that a wait publishes data from another block of a cluster only if its scope includes that
//! block.

use crate::common::{Device, launch};
use simt::{Arg, Module, Schedule};

/// Returns a kernel in which block 1 of a cluster sends a value to block 0, which waits for it with
/// `wait`.
fn sent(wait: &str) -> Module {
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n\
        .visible .entry reduce(.param .u64 in, .param .u64 out, .param .u64 n)\n{{\n\
        .reg .b32 tid, rank, at, there, value;\n.reg .b64 to;\n.reg .pred first, other, done;\n\
        .shared .align 8 .b64 arrived;\n.shared .align 4 .b32 box;\n\
        mov.u32 tid, %tid.x;\nmov.u32 rank, %cluster_ctarank;\nmov.u32 at, arrived;\n\
        setp.eq.u32 first, tid, 0;\nsetp.ne.u32 other, rank, 0;\n\
        @!first bra MET;\n@other bra MET;\nmbarrier.init.shared::cta.b64 [at], 1;\n\
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [at], 4;\n\
        fence.mbarrier_init.release.cluster;\n\
        MET:\nbarrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n\
        @!first ret;\n@!other bra WAIT;\n\
        mapa.shared::cluster.u32 there, at, 0;\nmov.u32 at, box;\n\
        mapa.shared::cluster.u32 at, at, 0;\nmov.u32 value, 1082130432;\n\
        st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [at], value, [there];\nret;\n\
        WAIT:\n{wait}.b64 done, [at], 0;\n@!done bra WAIT;\n\
        ld.shared.u32 value, [box];\nld.param.u64 to, [out];\nst.global.u32 [to], value;\nret;\n}}\n"
    );
    Module::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn data_from_another_block_needs_an_acquire_of_cluster_scope() {
    for schedule in [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(1)] {
        for wait in ["mbarrier.try_wait.parity", "mbarrier.test_wait.parity"] {
            let said = |scope: &str| {
                let mut device = Device::new(schedule);
                let out = device.room(4);
                let args = vec![Arg::U64(out), Arg::U64(out), Arg::U64(1)];
                let mut launch = launch("reduce", 2, 32, 0, args);
                launch.cluster[0] = 2;
                let module = sent(&format!("{wait}{scope}.shared::cta"));
                device.launch(&module, &launch).unwrap();
                let value = f32::from_le_bytes(device.get(out, 4).try_into().unwrap());
                assert_eq!(value, 4.0, "{wait}{scope}, {schedule}");
                device.said()
            };
            assert_eq!(said(".acquire.cluster"), "", "{wait}, {schedule}");
            for scope in ["", ".acquire.cta"] {
                let said = said(scope);
                assert!(said.contains("wait for its mbarrier with `.acquire.cluster`"), "{said}");
            }
        }
    }
}
