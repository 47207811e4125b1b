//! The list of entries that every command chooses from.

use common::{Result, Step, Study, device::Device, plan::Block, run::Job, sum::Scalar};
use measured::{Role, Variant};

use super::{
    blas::{Blas, Routine},
    competitor::{Competitor, Work},
    cub::{self, Cub},
    limits::{self, Limits},
    peers::Peers,
    reduce,
};

/// A competitor, before its buffers and kernels are prepared for a type and size.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'p> {
    /// An empty kernel.
    Floor,
    /// A kernel that reads the input and adds nothing.
    Read,
    /// The driver's copy from device memory to device memory.
    Copy,
    /// A step of the ladder.
    Step(&'static Step),
    /// A variant, which is a step with another kernel.
    Experiment(&'static Step),
    /// A kernel that belongs to a study.
    Way(&'static Study, &'static Step),
    /// The crate `reduce`.
    Reduce,
    /// A sum from CUB or Thrust.
    Cub(&'p Cub, &'p cub::Peer),
    /// A sum from cuBLAS.
    Blas(&'p Blas, Routine),
}

/// Returns all entries, in the order in which a round runs them.
pub fn all<'p>(
    steps: &[&'static Step],
    studies: &[&'static Study],
    peers: &'p Peers,
) -> Vec<Entry<'p>> {
    let mut all = vec![Entry::Floor, Entry::Read, Entry::Copy];
    all.extend(steps.iter().map(|step| Entry::Step(step)));
    all.extend(steps.iter().flat_map(|step| step.variants).map(Entry::Experiment));
    for study in studies {
        all.extend(study.ways.iter().map(|way| Entry::Way(study, way)));
    }
    all.push(Entry::Reduce);
    for cub in peers.cubs() {
        all.extend(cub.sums.iter().map(|peer| Entry::Cub(cub, peer)));
    }
    if let Ok(blas) = &peers.blas {
        all.extend(Routine::ALL.map(|routine| Entry::Blas(blas, routine)));
    }
    all
}

impl<'p> Entry<'p> {
    /// Returns the entry's name in every table.
    pub fn name(&self) -> &'p str {
        match self {
            Entry::Floor => limits::FLOOR,
            Entry::Read => limits::READ,
            Entry::Copy => limits::COPY,
            Entry::Step(step) | Entry::Experiment(step) | Entry::Way(_, step) => step.name,
            Entry::Reduce => reduce::NAME,
            Entry::Cub(_, peer) => &peer.name,
            Entry::Blas(_, routine) => routine.name(),
        }
    }

    /// Returns the entry's role in the tables.
    pub fn role(&self) -> Role {
        match self {
            Entry::Floor => Role::Floor,
            Entry::Read | Entry::Copy => Role::Ceiling,
            Entry::Step(_) => Role::Step,
            Entry::Experiment(_) => Role::Experiment,
            Entry::Way(..) => Role::Study,
            Entry::Reduce => Role::Reduce,
            Entry::Cub(..) | Entry::Blas(..) => Role::Peer,
        }
    }

    /// Returns the size of the largest supported input, in bytes; 0 if every size is supported.
    fn up_to(&self) -> u64 {
        match self {
            Entry::Way(study, _) => study.up_to,
            _ => 0,
        }
    }

    /// Returns whether the entry supports an input of this many bytes.
    pub fn is_for(&self, bytes: u64) -> bool {
        self.up_to() == 0 || bytes <= self.up_to()
    }

    /// Returns the block sizes with which to run the entry, out of those requested. An entry with
    /// its own block size runs once.
    pub fn blocks(&self, asked: &[Block]) -> Vec<Block> {
        match self {
            Entry::Step(step) | Entry::Experiment(step) => step.distinct_blocks(asked),
            Entry::Way(_, step) => step.distinct_blocks(&asked[..asked.len().min(1)]),
            _ => asked.iter().take(1).copied().collect(),
        }
    }

    fn what(&self) -> String {
        match self {
            Entry::Floor => {
                "an empty kernel between the two events: the lower bound of this method".into()
            }
            Entry::Read => {
                "reads the input in vectors of 16 bytes, eight in flight per thread, and adds nothing: up to 1.25 GiB there is one chunk per block; above that, blocks claim chunks of 512 KiB from a counter"
                    .into()
            }
            Entry::Copy => {
                "the driver's copy of the input to other device memory: reads and writes every byte".into()
            }
            Entry::Step(step) | Entry::Experiment(step) | Entry::Way(_, step) => step.cures.into(),
            Entry::Reduce => {
                "the library at the end of the ladder: one launch, the same bits everywhere".into()
            }
            Entry::Cub(cub, peer) if peer.waits => format!(
                "{}; it returns its sum to the host, so only wall time can be measured",
                cub.version
            ),
            Entry::Cub(cub, _) => cub.version.clone(),
            Entry::Blas(blas, Routine::Asum) => {
                format!("cuBLAS {}: the sum of absolute values", blas.version)
            }
            Entry::Blas(blas, Routine::Dot) => {
                format!("cuBLAS {}: the dot product with a vector of ones, which also has to be read", blas.version)
            }
        }
    }

    /// Prepares the entry for sums of `n` elements, with this block size unless the entry chooses
    /// its own.
    pub fn competitor<'d, T: Scalar + ::reduce::Element>(
        self,
        device: &'d Device,
        limits: &'d Limits,
        n: u64,
        block: Block,
    ) -> Result<Competitor<'d>>
    where
        'p: 'd,
    {
        let bytes = n * T::ELEMENT.size();
        let work = match self {
            Entry::Floor => Work::Limit(limits::Prepared::empty(limits)),
            Entry::Read => Work::Limit(limits::Prepared::read(device, limits, bytes)?),
            Entry::Copy => Work::Limit(limits::Prepared::copy(device.gpu()?, bytes)?),
            Entry::Step(step) | Entry::Experiment(step) | Entry::Way(_, step) => {
                let ptx = common::ptx::of(&step.kernel, T::ELEMENT, None)?;
                let problem = device.problem(n, block, T::ELEMENT);
                Work::Step(Job::load(device, step, &ptx, problem)?)
            }
            Entry::Reduce => Work::Reduce(reduce::Prepared::new::<T>(device.gpu()?, n)?),
            Entry::Cub(cub, peer) => Work::Cub(cub.prepare(device.gpu()?, peer, T::ELEMENT, n)?),
            Entry::Blas(blas, routine) => {
                Work::Blas(blas.prepare(device.gpu()?, routine, T::ELEMENT, n)?)
            }
        };
        let variant = Variant {
            name: self.name().into(),
            role: self.role(),
            what: self.what(),
            // A copy writes as many bytes as it reads.
            moves: if matches!(self, Entry::Copy) { 2 } else { 1 },
            up_to: self.up_to(),
        };
        let stepped = matches!(self, Entry::Step(_) | Entry::Experiment(_));
        let threads = if stepped { block.threads() } else { 0 };
        Ok(Competitor::new(device, variant, threads, work))
    }
}

#[cfg(test)]
mod tests {
    use common::{
        device::{Choice, Settings},
        sum::{Input, Workload},
    };

    use super::*;
    use crate::{LIMITS, STEPS, STUDIES};

    fn no_peers() -> Peers {
        Peers { cub: Err("not available".into()), older: None, blas: Err("not available".into()) }
    }

    #[test]
    fn every_entry_is_in_the_list_once() {
        let peers = no_peers();
        let all = all(&STEPS, &STUDIES, &peers);
        let names: Vec<&str> = all.iter().map(Entry::name).collect();
        assert_eq!(names[..4], ["empty-kernel", "read-only", "copy", "v0-naive"]);
        assert_eq!(names[16..19], ["v13-exact-sum", "v0-naive/and", "v8-wide-loads/one-word"]);
        assert_eq!(names.last(), Some(&"reduce"));
        let ways = &names[..names.len() - 1];
        let studied = STUDIES.iter().flat_map(|study| study.ways).map(|way| way.name);
        let studied: Vec<&str> = studied.collect();
        assert_eq!(ways[ways.len() - studied.len()..], studied);
        assert_eq!(
            studied[..5],
            ["one-block", "one-cluster", "counter", "mailbox", "one-accumulator"]
        );
        let distinct: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
    }

    #[test]
    fn entries_that_need_no_gpu_are_right_in_the_interpreter() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let limits = Limits::load(&device, &LIMITS).unwrap();
        let peers = no_peers();
        for n in [0, 1, 33, 1025] {
            let workload = Workload::<f32>::new(&device, Input::Signed, n, 7).unwrap();
            for entry in all(&STEPS, &STUDIES, &peers) {
                if matches!(entry, Entry::Copy | Entry::Reduce) {
                    continue;
                }
                for block in entry.blocks(&Block::ALL[1..3]) {
                    let competitor = entry.competitor::<f32>(&device, &limits, n, block).unwrap();
                    let verdict = competitor.verify(&workload).unwrap();
                    let name = entry.name();
                    assert_eq!(verdict.map(|v| v.verified()), competitor.sums().then_some(true));
                    let stepped = matches!(entry.role(), Role::Step | Role::Experiment);
                    let threads = if stepped { block.threads() } else { 0 };
                    assert_eq!(
                        (competitor.threads, competitor.variant.name.as_str()),
                        (threads, name)
                    );
                }
            }
        }
    }

    #[test]
    fn a_study_kernel_runs_at_the_sizes_of_its_study() {
        let way = Entry::Way(STUDIES[0], STUDIES[0].ways[0]);
        assert!(way.is_for(STUDIES[0].up_to) && !way.is_for(STUDIES[0].up_to + 1));
        assert!(Entry::Step(STEPS[0]).is_for(1 << 40));
        assert_eq!(way.blocks(&Block::ALL), Block::ALL[..1]);
        // A kernel that does not support the first requested block size has its own block size.
        let matrices = Entry::Way(STUDIES[2], STUDIES[2].ways[0]);
        assert!(matrices.is_for(1 << 40));
        assert_eq!(matrices.blocks(&Block::ALL), [Block::USUAL]);
        assert_eq!(Entry::Step(STEPS[10]).blocks(&Block::ALL), [Block::new(512).unwrap()]);
        assert_eq!(Entry::Step(STEPS[0]).blocks(&Block::ALL), Block::ALL);
    }
}
