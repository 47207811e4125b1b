//! Computes the four sums of a file with one of the versions.

use common::{
    Element, Error, Result, Step,
    device::Device,
    plan::{Holds, Order},
    ptx,
    run::{Checked, Job},
    sum::{Elements, Reference, Verdict, Workload},
};

use crate::{
    STUDY,
    file::Matrices,
    plan,
    threshold::{self, Cut},
};

/// How the host prepares the matrices for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Does nothing: the kernels accept any number of matrices.
    Nothing,
    /// Appends zeros up to a multiple of [`WHOLE`].
    Pad,
    /// Adds the matrices beyond the last multiple of [`WHOLE`] to the first matrices.
    PreReduce,
}

/// The kernels of the old project need a multiple of this number of matrices, which is the number
/// of threads in their blocks.
pub const WHOLE: u64 = 1024;

/// The four sums, and their exact values.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    /// The sums that the device computed.
    pub sums: [f32; 4],
    /// The exact sums.
    pub exact: [f64; 4],
    /// The number of matrices that the host passed to the device.
    pub given: u64,
    /// The number of matrices that were left to the CPU, or 1 if the device computed the final
    /// sums.
    pub left: u64,
}

/// Adds matrices with one version; `name` is that version's name without the order, such as
/// `one-pass`. The CPU takes over once at most `most_left` matrices are left.
pub fn sums(
    device: &Device,
    name: &str,
    matrices: Matrices,
    before: Before,
    most_left: u64,
) -> Result<Sums> {
    let Matrices { values, order } = matrices;
    let way = way(name, order)?;
    let exact = references(Elements::drawn(&values), order).map(|sum| sum.float());
    let values = prepared(values, order, before)?;
    let magnitude: f64 = values.iter().map(|value| f64::from(value.abs())).sum();
    if magnitude > f64::from(f32::MAX) {
        return Err(Error::Usage(format!(
            "the magnitudes add up to {magnitude:.3e}, but the largest f32 is {:.3e}: scale the numbers down",
            f32::MAX
        )));
    }
    let workload = Workload::of_values(device, values)?;
    let n = workload.values.len() as u64;
    let problem = device.problem(n, way.block(None), Element::F32);
    let job = Job::load(device, way, &ptx::of(&way.kernel, Element::F32, None)?, problem)?;
    job.verify(&workload).and_then(Checked::into_verified)?;
    let given = n / plan::ENTRIES;
    let cut = Cut::of(job.plan(), given, most_left);
    // The last run of `verify` used different numbers, so the sums are computed again.
    let sums = if most_left == 0 {
        job.launch(&job.calls(workload.warm())?)?;
        job.verify_last(&workload).and_then(Checked::into_verified)?;
        let sums = job.output::<f32>(plan::SUMS, plan::ENTRIES)?;
        [sums[0], sums[1], sums[2], sums[3]]
    } else {
        let sums = cut.sums(&job, &workload.values, order, workload.warm())?;
        let depth = job.plan().depth() + threshold::depth(cut.matrices);
        for (entry, (sum, reference)) in
            sums.into_iter().zip(references(workload.elements(), order)).enumerate()
        {
            if !Verdict::of(sum, &reference, depth).verified() {
                return Err(Error::Wrong(format!(
                    "entry {entry} is {sum}, but should be {}: the CPU added {} matrices wrongly",
                    reference.float(),
                    cut.matrices
                )));
            }
        }
        sums
    };
    Ok(Sums { sums, exact, given, left: cut.matrices })
}

pub(crate) fn way(name: &str, order: Order) -> Result<&'static Step> {
    let suffix = match order {
        Order::Row => "-row",
        Order::Column => "-column",
    };
    let known = |way: &&'static Step| way.name.strip_suffix(suffix) == Some(name);
    STUDY.ways.iter().copied().find(known).ok_or_else(|| {
        let names: Vec<&str> =
            STUDY.ways.iter().filter_map(|way| way.name.strip_suffix("-row")).collect();
        Error::Usage(format!("`{name}` is not a version for --way: choose {}", names.join(", ")))
    })
}

/// Returns the exact sum of each entry.
pub(crate) fn references(elements: Elements<'_, f32>, order: Order) -> [Reference; 4] {
    let all = Holds::Matrices { order, tile: u64::MAX, count: 1 };
    [0, 1, 2, 3].map(|entry| {
        let ranges = all.ranges(elements.count(), entry);
        ranges.fold(elements.sum(0..0), |sum, range| sum.plus(elements.sum(range)))
    })
}

/// Prepares the numbers for the device, in the same order.
fn prepared(values: Vec<f32>, order: Order, before: Before) -> Result<Vec<f32>> {
    let (entries, whole) = (plan::ENTRIES as usize, WHOLE as usize);
    let count = values.len() / entries;
    let given = match before {
        Before::Nothing => count,
        Before::Pad => count.next_multiple_of(whole),
        Before::PreReduce if count > 0 && count < whole => {
            return Err(Error::Usage(format!(
                "`--pre-reduce` needs at least {whole} matrices, because it adds the remainder to the first matrices, but the file has {count}: choose `--pad`, or neither option"
            )));
        }
        Before::PreReduce => count - count % whole,
    };
    if given == count {
        return Ok(values);
    }
    let at = |matrix: usize, entry: usize, count: usize| match order {
        Order::Row => entries * matrix + entry,
        Order::Column => entry * count + matrix,
    };
    let mut prepared = Vec::new();
    if prepared.try_reserve_exact(entries * given).is_err() {
        let needed = 4 * (entries * given) as u64;
        return Err(Error::Refused { what: "the matrices and their padding".into(), needed });
    }
    prepared.resize(entries * given, 0.0);
    for entry in 0..entries {
        for matrix in 0..count {
            let to = if matrix < given { matrix } else { matrix - given };
            prepared[at(to, entry, given)] += values[at(matrix, entry, count)];
        }
    }
    Ok(prepared)
}
