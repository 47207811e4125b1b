//! What a page is told.

use std::collections::BTreeMap;

use common::{plan::Plan, sum::Value};
use serde::Serialize;
use simt::{Counters, Counts, observe::Finding};

use crate::frame::Frame;

/// Counts by name.
pub(crate) type Named = BTreeMap<&'static str, u64>;

/// What came of a question.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Answer {
    /// Why there is no sum, or not the whole of the counts: a refusal, a trap, a fault of the text.
    pub stopped: Option<String>,
    /// The line of the PTX at which that is, and the line of its source.
    pub stopped_at: Option<(u32, u32)>,
    /// What is launched.
    pub launches: Vec<Launch>,
    /// Threads of a block.
    pub threads: u32,
    /// The kernel's sum.
    pub sum: Option<Value>,
    /// The right one.
    pub expected: Option<Value>,
    /// Whether the sum, and all that it is made of, is right.
    pub verified: bool,
    /// If not: where it went wrong.
    pub wrong: Option<String>,
    /// What the checks found.
    pub findings: Vec<Found>,
    /// All launches together.
    pub total: Named,
    /// By line of the source: what is not zero, over all launches.
    pub lines: BTreeMap<u32, Named>,
    /// By line of the PTX: the line of the source, the instructions that warps issued, and the lanes
    /// that were on in them.
    pub ptx: BTreeMap<u32, (u32, u64, u64)>,
    /// What the first block of the first launch does.
    pub frames: Vec<Frame>,
}

/// One launch.
#[derive(Clone, Debug, Serialize)]
pub struct Launch {
    /// Blocks.
    pub grid: u32,
    /// Threads of each.
    pub block: u32,
    /// Bytes of dynamic shared memory of each.
    pub shared: u32,
    /// Elements that it adds.
    pub n: u64,
    /// Its counts.
    pub counts: Named,
}

/// What a check found.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Its class.
    pub fault: &'static str,
    /// What is wrong and what to do.
    pub sentence: String,
    /// Where, and how often.
    pub details: String,
    /// Lines of the source.
    pub lines: Vec<u32>,
    /// Lines of the PTX.
    pub ptx_lines: Vec<u32>,
}

impl Answer {
    /// No answer, and why.
    pub fn refused(why: impl ToString) -> Answer {
        Answer { stopped: Some(why.to_string()), ..Answer::default() }
    }

    /// The launches of a plan, not yet counted.
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

    /// The counts, whole or as far as they came.
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
