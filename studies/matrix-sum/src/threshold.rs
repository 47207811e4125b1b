//! Lets the CPU take over the last matrices: `--cpu-threshold`.

use common::{
    Result,
    device::Address,
    plan::{Buffer, Holds, Order, Plan},
    run::Job,
};

use crate::plan::ENTRIES;

/// The last launch before the CPU takes over, and its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The number of launches.
    pub launches: usize,
    /// The buffer with the remaining matrices.
    pub buffer: Buffer,
    /// The number of remaining matrices.
    pub matrices: u64,
}

impl Cut {
    /// Finds the first launch of a plan after which at most `threshold` of `matrices` matrices are
    /// left.
    pub fn of(plan: &Plan, matrices: u64, threshold: u64) -> Cut {
        let all = Cut { launches: 0, buffer: Buffer::Input, matrices };
        let left = plan.launches.iter().enumerate().filter_map(|(at, launch)| {
            let stages = launch.stages.iter().rev();
            let mut left = stages.filter_map(|stage| match stage.holds {
                Holds::Matrices { count, .. } => Some((stage.sums, count)),
                _ => None,
            });
            left.next().map(|(buffer, matrices)| Cut { launches: at + 1, buffer, matrices })
        });
        let mut cuts = [all].into_iter().chain(left).peekable();
        while let Some(cut) = cuts.next() {
            if cut.matrices <= threshold || cuts.peek().is_none() {
                return cut;
            }
        }
        all
    }

    /// Returns the four sums. The device runs up to this launch, and the CPU adds the remaining
    /// matrices. `values` are the elements, which the memory at the address also holds.
    pub fn sums(
        &self,
        job: &Job<'_>,
        values: &[f32],
        order: Order,
        at: Address<'_>,
    ) -> Result<[f32; 4]> {
        if self.launches == 0 {
            return Ok(host(values, order));
        }
        job.launch(&job.calls(at)?[..self.launches])?;
        Ok(host(&job.output::<f32>(self.buffer, ENTRIES * self.matrices)?, order))
    }
}

/// The number of values that a CPU core adds at the same time.
const LANES: usize = 16;

/// Computes the four sums on one core.
pub fn host(values: &[f32], order: Order) -> [f32; 4] {
    let entries = ENTRIES as usize;
    match order {
        Order::Row => {
            let lanes = lanes(values);
            [0, 1, 2, 3].map(|entry| lanes.iter().skip(entry).step_by(entries).sum())
        }
        Order::Column => {
            let mut slices = values.chunks((values.len() / entries).max(1));
            [0, 1, 2, 3].map(|_| slices.next().map_or(0.0, |slice| lanes(slice).iter().sum()))
        }
    }
}

/// Adds value i to sum i modulo the number of sums.
fn lanes(values: &[f32]) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    let mut add = |some: &[f32]| sums.iter_mut().zip(some).for_each(|(sum, value)| *sum += value);
    let whole = values.chunks_exact(LANES);
    let rest = whole.remainder();
    whole.for_each(&mut add);
    add(rest);
    sums
}

/// Returns the longest chain of additions in `host` for this many matrices.
pub fn depth(matrices: u64) -> u32 {
    u32::try_from(matrices.div_ceil(4)).unwrap_or(u32::MAX - LANES as u32) + LANES as u32
}

#[cfg(test)]
mod tests {
    use common::{
        Element,
        plan::{Block, Chip, Problem},
    };

    use super::*;
    use crate::plan;

    #[test]
    fn both_orders_have_the_same_sums() {
        for count in [0usize, 1, 3, 4, 5, 33, 1025] {
            let row: Vec<f32> = (0..4 * count).map(|at| ((at * 7) % 23) as f32 - 11.0).collect();
            let column: Vec<f32> =
                (0..4 * count).map(|at| row[4 * (at % count) + at / count]).collect();
            let mut exact = [0.0; 4];
            row.iter().enumerate().for_each(|(at, value)| exact[at % 4] += value);
            assert_eq!(host(&row, Order::Row), exact, "{count}");
            assert_eq!(host(&column, Order::Column), exact, "{count}");
        }
    }

    #[test]
    fn the_cpu_takes_over_as_soon_as_it_may() {
        let matrices = 1 << 20;
        let problem = Problem {
            n: ENTRIES * matrices,
            block: Block::new(256).unwrap(),
            element: Element::F32,
            chip: Chip::H200,
        };
        let plan = plan::until_one(&problem, Order::Row, "reduce_row", 2);
        let cut = |threshold| {
            let cut = Cut::of(&plan, matrices, threshold);
            (cut.launches, cut.matrices)
        };
        assert_eq!(cut(0), (3, 1));
        assert_eq!(cut(1), (3, 1));
        assert_eq!(cut(4), (2, 4));
        assert_eq!(cut(2047), (2, 4));
        assert_eq!(cut(2048), (1, 2048));
        assert_eq!(cut(matrices - 1), (1, 2048));
        assert_eq!(cut(matrices), (0, matrices));
    }
}
