//! Defines the answers that a page gets.

use std::collections::BTreeMap;

use common::{plan::Plan, sum::Value};
use serde::Serialize;
use simt::{Counters, Counts, observe::Finding};

use crate::frame::Frame;

/// Counts by name.
pub(crate) type Named = BTreeMap<&'static str, u64>;

/// The answer to a question.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Answer {
    /// The reason why the sum or the counts are incomplete: a rejected kernel, a trap, or an error
    /// in the PTX.
    pub stopped: Option<String>,
    /// The lines of the PTX and of the source that the reason refers to.
    pub stopped_at: Option<(u32, u32)>,
    /// The launches.
    pub launches: Vec<Launch>,
    /// Threads per block.
    pub threads: u32,
    /// The kernel's sum.
    pub sum: Option<Value>,
    /// The expected sum.
    pub expected: Option<Value>,
    /// Whether the sum and all partial results are correct.
    pub verified: bool,
    /// The first wrong result, if there is one.
    pub wrong: Option<String>,
    /// The findings of the checks.
    pub findings: Vec<Found>,
    /// The total counts over all launches.
    pub total: Named,
    /// For each line of the source, the nonzero counts over all launches.
    pub lines: BTreeMap<u32, Named>,
    /// For each line of the PTX: the line of the source, the number of instructions that warps
    /// issued, and the number of active lanes in these instructions.
    pub ptx: BTreeMap<u32, (u32, u64, u64)>,
    /// The frames of the first block of the first launch.
    pub frames: Vec<Frame>,
}

/// One launch.
#[derive(Clone, Debug, Serialize)]
pub struct Launch {
    /// The number of blocks.
    pub grid: u32,
    /// Threads per block.
    pub block: u32,
    /// Bytes of dynamic shared memory per block.
    pub shared: u32,
    /// The number of elements that the launch adds.
    pub n: u64,
    /// The counts of this launch.
    pub counts: Named,
}

/// A finding of a check.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The class of fault.
    pub fault: &'static str,
    /// The fault and its remedy.
    pub sentence: String,
    /// The location of the fault, and the number of times that it occurred.
    pub details: String,
    /// Lines of the source.
    pub lines: Vec<u32>,
    /// Lines of the PTX.
    pub ptx_lines: Vec<u32>,
}

impl Answer {
    /// Returns an answer that has no result and gives the reason.
    pub fn refused(why: impl ToString) -> Answer {
        Answer { stopped: Some(why.to_string()), ..Answer::default() }
    }

    /// Adds the launches of a plan to the answer, without counts.
    pub(crate) fn plan(&mut self, plan: &Plan) {
        let launch = |launch: &common::plan::Launch| Launch {
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared,
            n: launch.n,
            counts: Named::new(),
        };
        self.launches = plan.launches.iter().map(launch).collect();
    }

    /// Adds the counts to the answer; after a trap, they are incomplete.
    pub(crate) fn counts(&mut self, counters: &Counters) {
        self.total = counters.total.fields().collect();
        for (launch, counted) in self.launches.iter_mut().zip(&counters.launches) {
            launch.counts = counted.counts.fields().collect();
        }
        let mut lines = BTreeMap::<u32, Counts>::new();
        for counted in &counters.launches {
            for (line, counts) in &counted.lines {
                *lines.entry(*line).or_default() += counts;
            }
            for (ptx_line, (line, counts)) in &counted.ptx {
                let (_, insts, lanes) = self.ptx.entry(*ptx_line).or_insert((*line, 0, 0));
                *insts += counts.warp_insts;
                *lanes += counts.thread_insts;
            }
        }
        let some = |counts: Counts| counts.fields().filter(|(_, count)| *count > 0).collect();
        self.lines = lines.into_iter().map(|(line, counts)| (line, some(counts))).collect();
    }

    pub(crate) fn found(&mut self, findings: &[Finding]) {
        let found = |finding: &Finding| {
            let mut lines: Vec<u32> = finding.lines.iter().flatten().copied().collect();
            lines.sort_unstable();
            lines.dedup();
            Found {
                fault: finding.fault.name(),
                sentence: finding.sentence(),
                details: finding.details(),
                lines,
                ptx_lines: finding.sites.iter().map(|site| site.ptx_line).collect(),
            }
        };
        self.findings = findings.iter().map(found).collect();
    }
}
