//! Runs single blocks of launches on very long inputs, because an index that is too narrow wraps only
//! there, and some rings refill their stages only in long chunks.

use numbers::{Reference, mixed};
use simt::{Gpu, TrapKind};

use super::{
    extra::{ALL_RUNS, Asked},
    first::First,
};
use crate::{
    Element, Result,
    device::{Program, interpreter},
    plan::{Chip, Holds, Order, Plan, Problem},
    sum::{Mismatch, Run, Scalar, Verdict, WrongPartial},
};

/// The number of multiprocessors. With this number, no block adds very many elements.
const MULTIPROCESSORS: u32 = 1 << 13;

/// Returns the lengths. In the first one, chunks have more stages than a ring, and the checks run.
/// In the second one, the indices of elements exceed 2^32; in the third one, those of vectors do.
fn lengths(element: Element) -> [u64; 3] {
    [(1 << 24) + 13, (33 << 27) + 13, (17 << 28) * (16 / element.size()) + 13]
}

/// The maximum number of elements that a block adds; a run with more would take seconds.
const ELEMENTS: u64 = 1 << 25;

/// The maximum number of elements of a second block.
const FEW: u64 = 1 << 18;

/// The maximum number of instructions of a block, which is several times what a correct block needs.
const BUDGET: u64 = 1 << 25;

/// The maximum number of ranges in a partial sum; a sum of more ranges is not checked.
const RANGES: usize = 1 << 16;

/// Runs single blocks of a step's first launch on very long inputs, and compares their partial sums
/// with the exact sums. Returns a description of the fault, if there is one.
pub(super) fn wrong_on_long_inputs<T: Scalar>(
    asked: Asked<'_, T>,
    program: &Program,
    chip: Chip,
) -> Result<Option<Box<Mismatch>>> {
    // A page of the book has no address space for a long input.
    if usize::BITS < 64 || asked.values.len() < ALL_RUNS {
        return Ok(None);
    }
    let Program::Simt(program) = program else { return Ok(None) };
    for n in lengths(T::ELEMENT) {
        let chip = Chip { sms: MULTIPROCESSORS, ..chip };
        let problem = Problem { n, block: asked.block, element: T::ELEMENT, chip };
        let plan = (asked.step.plan)(&problem);
        let Some(launch) = plan.launches.first() else { continue };
        let Some(stage) = launch.stages.first() else { continue };
        let grid = u64::from(launch.grid);
        if launch.cluster > 1 || grid < 4 || plan.check(&chip).is_err() {
            continue;
        }
        let added = |block: u64| {
            let sums = sums(stage.holds, block, grid)?;
            let mut ranges = sums.iter().flat_map(|&sum| stage.holds.ranges(n, sum));
            let elements: u64 =
                ranges.by_ref().take(RANGES).map(|range| range.end - range.start).sum();
            ranges.next().is_none().then_some((sums, elements))
        };
        // Another block runs because the elements at a wrong index can have the expected values by
        // chance, and the last block because it adds the elements behind the last whole vector. Of
        // blocks with many elements, only the first runs. The last block may consume the others' messages.
        let long = added(grid - 2).is_some_and(|(_, elements)| elements > FEW);
        let first = if long && !plan.has_messages(stage.sums) { grid - 1 } else { grid - 2 };
        // A difference of n and an index that is cut to 32 bits wraps in this block.
        let cut = n.checked_sub(1 << 32).and_then(|at| stage.holds.owner(at)).unwrap_or(first);
        let blocks = [(first, ELEMENTS), (grid / 8 * 5, FEW), (grid - 1, FEW), (cut, FEW)];
        for (block, most) in blocks {
            let Some((sums, elements)) = added(block) else { continue };
            if elements > most {
                continue;
            }
            let one = Block { asked, plan: &plan, problem, block, sums, checked: n < 1 << 25 };
            if let Some(said) = one.fault(program)? {
                let verdict = Verdict::of(T::ZERO, &T::sum(&[]), 0);
                let before = asked.values.len() as u64;
                let mut wrong =
                    Mismatch::of(asked.step, &problem, Run::Long(before), verdict, None);
                wrong.leftover = Some(said);
                return Ok(Some(Box::new(wrong)));
            }
        }
    }
    Ok(None)
}

/// The advice for a wrong address or sum whose cause may be a narrow index, among others.
const NARROW: &str = "; if an index has 32 bits, it wraps at 2^32, an `int` at 2^31 and a narrower type earlier, and a `float` skips integers from 2^24 on: make every index, count and length `unsigned long long`, and cast `blockIdx.x` to that type before the multiplication";

/// Returns the advice for an address out of bounds, which may lie in an array of a fixed length.
fn entries(grid: u32) -> String {
    format!(
        "the launch has {grid} blocks: if this is an array with an entry for each block, it needs {grid} entries"
    )
}

/// Returns the indices of a block's own partial sums; `None` if a partial sum belongs to several
/// blocks.
fn sums(holds: Holds, block: u64, grid: u64) -> Option<Vec<u64>> {
    let entries = 0..Holds::ENTRIES;
    match holds {
        Holds::Matrices { count, .. } if count != grid => None,
        Holds::Matrices { order: Order::Row, .. } => {
            Some(entries.map(|entry| block * Holds::ENTRIES + entry).collect())
        }
        Holds::Matrices { order: Order::Column, .. } => {
            Some(entries.map(|entry| entry * grid + block).collect())
        }
        _ => (holds.count() == grid).then(|| vec![block]),
    }
}

/// A block of the first launch on a long input.
struct Block<'a, T> {
    asked: Asked<'a, T>,
    plan: &'a Plan,
    problem: Problem,
    block: u64,
    /// The indices of its partial sums.
    sums: Vec<u64>,
    checked: bool,
}

impl<T: Scalar> Block<'_, T> {
    /// Runs the block. Returns a description of its fault, if there is one.
    fn fault(&self, program: &interpreter::Program) -> Result<Option<String>> {
        let (n, launch) = (self.problem.n, &self.plan.launches[0]);
        let (stage, size) = (launch.stages[0], T::ELEMENT.size() as usize);
        let mut first = First::new(self.asked, self.plan, n, word)?;
        first.gpu.config_mut().blocks = Some(self.block..self.block + 1);
        first.gpu.config_mut().block_budget = BUDGET;
        let mut watch = self.checked.then(simt::checks);
        let what = format!("in an extra run of block {} alone, on {n} elements", self.block);
        let narrow = if n >> 31 == 0 { "" } else { NARROW };
        match first.launch(program, watch.as_mut()) {
            Ok(()) => {}
            // The block may poll for messages of the other blocks, which do not run.
            Err(simt::Error::Trap(trap))
                if trap.kind == TrapKind::Budget && trap.polls && self.plan.communicates() =>
            {
                return Ok(None);
            }
            Err(simt::Error::Trap(trap)) => {
                let cause = watch.as_ref().and_then(simt::cause).map_or(String::new(), |cause| {
                    format!("; before that, the checks found: {}", cause.sentence())
                });
                let advice = match trap.kind {
                    TrapKind::OutOfBounds => format!("; {}{narrow}", entries(launch.grid)),
                    TrapKind::Misaligned | TrapKind::Budget => narrow.into(),
                    _ => String::new(),
                };
                return Ok(Some(format!("{what}, {}{advice}{cause}", trap.sentence())));
            }
            Err(error) => return Err(first.failed(error)),
        }
        if let Some(watch) = &watch
            && let Some(finding) = simt::findings(watch).iter().find(|f| !f.is_harmless())
        {
            return Ok(Some(format!("{what}, the checks found: {}", finding.sentence())));
        }
        let mail = self.plan.has_messages(stage.sums);
        for &index in &self.sums {
            let mut bytes = vec![0; if mail { 2 * size } else { size }];
            first.read(stage.sums, index * bytes.len() as u64, &mut bytes)?;
            let unwritten = bytes.iter().all(|&byte| byte == if mail { 0 } else { 0xff });
            // The block may draw its tile from a counter, and store its sum elsewhere. Which block
            // sends which message is not part of the plan.
            if unwritten && (mail || self.asked.ptx.text.contains("atom.")) {
                return Ok(None);
            }
            let expected = self.expected(index);
            let judged = |half: usize| {
                let halves = |slot: &[u8]| slot[half..half + 4].to_vec();
                let value = match mail {
                    true => bytes.chunks_exact(8).flat_map(halves).collect(),
                    false => bytes.clone(),
                };
                Verdict::of(bytemuck::pod_read_unaligned::<T>(&value), &expected, 0)
            };
            // Usually, the upper half of a slot is the flag.
            let mut verdict = judged(0);
            if mail && judged(4).verified() {
                verdict = judged(4);
            }
            if !verdict.verified() {
                let partial =
                    WrongPartial::of(self.plan, (1, &stage, n), index, verdict, unwritten);
                let advice = match unwritten {
                    true => {
                        ": let it store there, and compute the place from the whole block index"
                    }
                    false => narrow,
                };
                return Ok(Some(format!("{what}, {partial}{advice}")));
            }
        }
        Ok(None)
    }

    /// Returns the exact sum of the elements that a partial sum holds.
    fn expected(&self, index: u64) -> Reference {
        let each = Gpu::PAGE / T::ELEMENT.size();
        let mut sum = T::sum(&[]);
        for range in self.plan.launches[0].stages[0].holds.ranges(self.problem.n, index) {
            let mut at = range.start;
            while at < range.end {
                let end = ((at / each + 1) * each).min(range.end);
                sum = sum.plus(times(value::<T>(at / each), end - at));
                at = end;
            }
        }
        sum
    }
}

/// Returns the word that a page of the input repeats: 2, −2, 3 or −3 as an `f32`. All sums of such
/// elements are exact, in all types.
fn word(page: u64) -> u32 {
    [0x4000_0000, 0xC000_0000, 0x4040_0000, 0xC040_0000][mixed(page) as usize % 4]
}

/// Returns the value that all elements in a page of the input have.
fn value<T: Scalar>(page: u64) -> T {
    bytemuck::pod_read_unaligned(&bytemuck::cast::<_, [u8; 8]>([word(page); 2])[..size_of::<T>()])
}

/// Returns the sum of `count` equal elements.
fn times<T: Scalar>(value: T, count: u64) -> Reference {
    let (mut sum, mut power) = (T::sum(&[]), T::sum(&[value]));
    for bit in 0..u64::BITS - count.leading_zeros() {
        if count >> bit & 1 == 1 {
            sum = sum.plus(power);
        }
        power = power.plus(power);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Step,
        device::{Choice, Device, Settings},
        plan::{Block, Phase},
        run::{Samples, played, run},
        sum::{Input, Workload},
    };

    /// The first thread of each block adds 64 elements.
    const TILES: &str = "
.version 8.4
.target sm_60
.address_size 64
.visible .entry reduce(.param .u64 in, .param .u64 out, .param .u64 n)
{
    .reg .pred %p;
    .reg .f32 %sum, %x;
    .reg .u32 %lane, %block, %first;
    .reg .u64 %in, %out, %n, %i, %end, %at;
    mov.u32 %lane, %tid.x;
    mov.u32 %block, %ctaid.x;
    setp.ne.u32 %p, %lane, 0;
    @%p ret;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    ld.param.u64 %n, [n];
    mul.wide.u32 %i, %block, 64;
    add.u64 %end, %i, 64;
    min.u64 %end, %end, %n;
    mov.f32 %sum, 0f00000000;
again:
    setp.ge.u64 %p, %i, %end;
    @%p bra done;
    mad.lo.u64 %at, %i, 4, %in;
    ld.global.f32 %x, [%at];
    add.f32 %sum, %sum, %x;
    add.u64 %i, %i, 1;
    bra again;
done:
    mad.wide.u32 %at, %block, 4, %out;
    st.global.f32 [%at], %sum;
    ret;
}
";

    static STEP: Step = played::step("tiles", |problem| {
        let phase = Phase { entry: "reduce".into(), tile: 64, shared: 0, depth: 64 };
        Plan::until_one(problem, &phase)
    });

    fn said(text: &str) -> Option<String> {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let workload = Workload::<f32>::new(&device, Input::Uniform, 1 << 17, 1).unwrap();
        let (block, samples) = (Block::new(64).unwrap(), Samples { count: 0, warm: false });
        let outcome = run(&STEP, &played::ptx(text), &device, &workload, block, samples).unwrap();
        outcome.fault().map(|fault| fault.to_string())
    }

    #[test]
    fn an_index_of_32_bits_is_found() {
        assert_eq!(said(TILES), None);
        let narrow = "mul.lo.u32 %first, %block, 64;\n    cvt.u64.u32 %i, %first;";
        let text = TILES.replace("mul.wide.u32 %i, %block, 64;", narrow);
        let wraps = said(&text).expect("the index wraps");
        let start = "tiles is wrong on a longer input, although its runs on 131072 elements were right: in an extra run of block 69206015 alone, on 4429185037 elements, block 69206015 of launch 1, which adds the elements 4429184960 to 4429185023, should store ";
        assert!(wraps.starts_with(start), "{wraps}");
        assert!(wraps.contains("; if an index has 32 bits, it wraps at 2^32"), "{wraps}");
        let trap =
            "setp.gt.u64 %p, %n, 4294967296;\n    @%p trap;\n    mul.wide.u32 %i, %block, 64;";
        let trap = TILES.replace("mul.wide.u32 %i, %block, 64;", trap);
        let trap = said(&trap).expect("the kernel stops");
        assert!(
            trap.contains("alone, on 4429185037 elements, ") && trap.contains("trap"),
            "{trap}"
        );
        assert!(!trap.contains("wraps") && !trap.contains("entries"), "{trap}");
    }

    /// The kernel has an array of its own, with an entry for each of 32768 blocks.
    #[test]
    fn an_array_with_too_few_entries_is_told_of_the_grid() {
        let text =
            TILES.replace(".visible", ".global .align 4 .b8 kept[131072];\n.visible").replace(
                "done:",
                "done:\n    mov.u64 %end, kept;\n    mad.wide.u32 %at, %block, 4, %end;\n    \
                 st.global.f32 [%at], %sum;",
            );
        let said = said(&text).expect("the array is too small");
        assert!(said.contains("a buffer of 131072 bytes"), "{said}");
        let blocks = "; the launch has 262145 blocks: if this is an array with an entry for each block, it needs 262145 entries";
        assert!(said.contains(blocks), "{said}");
    }

    /// Equal elements have the sum of as many additions.
    #[test]
    fn sums_of_pages_are_exact() {
        for count in [0u64, 1, 2, 3, 1000, (1 << 18) - 1] {
            let added = vec![value::<f32>(7); count as usize];
            assert_eq!(
                format!("{:?}", times(value::<f32>(7), count)),
                format!("{:?}", f32::sum(&added))
            );
        }
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(value::<f32>).iter().filter(|x| x.abs() < 2.0).count(),
            0
        );
    }
}
