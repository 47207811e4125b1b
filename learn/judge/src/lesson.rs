//! Checks that the kernel follows the lesson: lanes, warps and blocks must share the work.
//!
//! A budget limits an absolute count in one launch. The limits in this file follow from the launch,
//! so they hold for every type, block size and grid, and at sizes that depend on the seed.

mod copies;
mod mailbox;
mod shared;
pub(crate) mod threads;
mod ticket;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use numbers::{Element, group};
use simt::observe::BlockTrace;

use crate::case::Case;
use crate::cost::SECTORS;
use crate::held::once;
use crate::scene::{Scene, Seen, blocks};
use crate::task::{Operation, Shape};
use crate::verdict::{Failure, Stage};
use work::Work;

/// Counts the events of a few launches, and compares the busiest lane, warp and block with the
/// limits.
pub(crate) fn lesson(case: &Case) -> Result<(), Box<Failure>> {
    for (element, n, threads, grid) in scenes(case) {
        let scene = Scene { traced: true, ..case.scene(element, n, threads, grid) };
        let seen = once(&scene, case.seed)?;
        let run_time = || repeated(&scene, &seen).or_else(|| compared(&scene));
        if let Some(dodge) = dodge(&scene, &seen).or_else(run_time) {
            return Err(Box::new(dodge));
        }
    }
    Ok(())
}

/// Returns, for each launch, the element type, the number of elements, the number of threads per
/// block, and the grid size.
fn scenes(case: &Case) -> Vec<(Element, u64, u32, u32)> {
    let task = case.task;
    let extra = case.seed % 61;
    let types: Vec<Element> = case.modules.iter().map(|(element, _)| *element).collect();
    match task.shape {
        Shape::Tiles { each } => {
            let both = types.iter().flat_map(|e| task.blocks.iter().map(|t| (*e, *t)));
            let tiles = 2 + extra as u32 % 3;
            // Sometimes, the last block lacks a few elements.
            both.flat_map(|(e, t)| {
                let n = u64::from(tiles) * each * u64::from(t);
                [n, n - 1 - extra % 5].map(|n| (e, n, t, tiles))
            })
            .collect()
        }
        Shape::Alone => {
            // At 2^14 and 2^11 elements, each warp has the same share.
            let of = |e: &Element| {
                [1 << 14, (1 << 14) + 1 + extra, 1 << 11].map(|n| (*e, n, task.blocks[0], 1))
            };
            let large = (Element::F32, 1 << 17, task.blocks[0], 1);
            types.iter().flat_map(of).chain([large]).collect()
        }
        Shape::Shares { .. } | Shape::Single { .. } | Shape::Mailbox { .. } => {
            let of = |e: &Element| {
                let n = (1 << 17) + 5 + extra;
                let even = 6 + 2 * (case.seed % 5) as u32;
                [5, even, 11].map(|grid| (*e, n + 512 * u64::from(grid % 3), task.blocks[0], grid))
            };
            let mut all: Vec<_> = types.iter().flat_map(of).collect();
            if matches!(task.shape, Shape::Single { .. }) && !task.same_bits {
                // The blocks must share small inputs too.
                let of = |n| (Element::F32, n + extra, task.blocks[0], 11);
                all.extend([700, 1700, 3000].map(of));
            }
            all
        }
    }
}

/// Returns the number of warps that may have no elements: if each thread takes the same number of
/// consecutive vectors, rounded up, the last threads of the grid have none.
fn spare(scene: &Scene<'_>) -> u64 {
    let threads = u64::from(scene.threads) * u64::from(scene.grid);
    let left = |width: u64| {
        let vectors = scene.n / width;
        threads / 32 - vectors / vectors.div_ceil(threads).max(1) / 32
    };
    [1, 2, 4].map(left).into_iter().max().unwrap_or(0)
}

/// Returns the busiest entry of a map: its index, its count and its line.
fn busiest(map: &BTreeMap<u32, (u64, u32)>) -> (u32, u64, u32) {
    let most = map.iter().max_by_key(|(of, (count, _))| (*count, std::cmp::Reverse(**of)));
    most.map_or((0, 0, 0), |(of, (count, line))| (*of, *count, *line))
}

/// The limits for one launch, in elements and events.
struct Limits {
    /// The maximum number of input elements that one lane loads.
    loaded: u64,
    /// The minimum number of input elements that a warp loads.
    least: u64,
    /// The maximum number of values that one lane reads; `None` if a block may add any number of
    /// chunks.
    got: Option<u64>,
    /// The maximum number of values that one lane reads from memory between two barriers, if the
    /// tree is in shared memory.
    burst: Option<u64>,
    /// The maximum number of shuffles of one warp between two block barriers.
    row: Option<u64>,
    /// The maximum number of barriers that one warp passes.
    waits: Option<u64>,
    /// The minimum number of warps in a block that combine values.
    adding: u64,
    /// The maximum number of atomics over all lanes and blocks.
    atomics: u64,
}

fn limits(scene: &Scene<'_>) -> Limits {
    let (task, threads, grid) = (scene.task, u64::from(scene.threads), u64::from(scene.grid));
    let rounds = u64::from(scene.threads.next_power_of_two().ilog2());
    let warps = threads / 32;
    let outputs = task.operation.outputs() as u64;
    let fair = scene.n.div_ceil(threads * grid);
    // A lane reads both values of each round from shared memory, or executes five shuffles and
    // reads one value per warp. A shuffle of a `double` is two shuffles.
    let shuffles = if scene.element == Element::F64 { 10 } else { 5 };
    let tree = outputs * (2 * rounds + 2).max(2 * shuffles).max(shuffles + warps) + 6;
    match task.shape {
        Shape::Tiles { each } => Limits {
            loaded: 2 * each,
            least: 0,
            got: Some(2 * each + tree),
            // Adding four values at a time also forms a tree.
            burst: Some(5 * outputs),
            // Two shuffles more than a tree takes may broadcast a value. A single warp needs no
            // barrier between its two trees.
            row: Some(
                outputs * (if warps > 1 { shuffles } else { 2 * shuffles } + shuffles / 5 * 2),
            ),
            waits: Some(3 * rounds + 8),
            adding: (warps / 4).max(1),
            atomics: 0,
        },
        Shape::Alone | Shape::Shares { .. } => Limits {
            loaded: 2 * fair + 8,
            least: if task.copies { 0 } else { 8 * fair },
            burst: None,
            row: None,
            got: Some(2 * fair + 8 + tree),
            // A ring needs a barrier for each stage.
            waits: (!task.copies).then_some(3 * rounds + 8),
            adding: (warps / 4).max(1),
            atomics: 0,
        },
        Shape::Single { .. } => Limits {
            // Chunks that do not depend on the grid cannot be shared evenly.
            loaded: if task.same_bits { 3 } else { 2 } * fair + 8,
            least: 0,
            burst: None,
            row: None,
            got: (!task.same_bits).then_some(2 * fair + 8 + 2 * tree + grid),
            waits: None,
            // A block without the last ticket need not add what its threads have stored.
            adding: if task.same_bits { 0 } else { (warps / 4).max(1) },
            atomics: 2 * grid,
        },
        // A message has one word for every four bytes of its value, and each word holds 32 bits and
        // a flag. A poll may find that the message has not arrived.
        Shape::Mailbox { .. } => Limits {
            loaded: 2 * fair + 8,
            least: 0,
            burst: None,
            row: None,
            got: Some(2 * fair + 8 + 2 * tree + 8 * grid),
            waits: None,
            adding: (warps / 4).max(1),
            atomics: 4 * grid * scene.element.size() / 4,
        },
    }
}

/// Returns a failure if a warp repeats an instruction in an exercise that forbids loops at run
/// time.
fn repeated(scene: &Scene<'_>, seen: &Seen) -> Option<Failure> {
    let launch = seen.counters.launches.first().filter(|_| scene.task.unrolled)?;
    let warps = u64::from(scene.threads / 32 * scene.grid);
    let times =
        launch.ptx.values().map(|(line, counts)| (counts.warp_insts.div_ceil(warps), *line));
    // Lanes that have diverged may execute an instruction twice.
    let (times, line) = times.max().filter(|(times, _)| *times > 2)?;
    let said = format!(
        "{}: each warp executes line {line} {times} times, so there is a loop at run time",
        scene.what()
    );
    let failure = Failure::new(Stage::Budget, said).at([line]);
    Some(Failure { idea: Some(scene.task.idea.1), ..failure })
}

/// Returns a failure if a kernel compares 32-bit numbers with the block size at run time, in an
/// exercise in which the block size is known at compile time. The comparison of an index with n is
/// in 64 bits, so it is not affected.
fn compared(scene: &Scene<'_>) -> Option<Failure> {
    let kernel = scene.module.kernel(&scene.entry().ok()?).filter(|_| scene.task.unrolled)?;
    let mut sizes: BTreeSet<&str> = ["%ntid.x"].into();
    let mut pcs = 0..kernel.len() as u32;
    if let Some(pc) = pcs.find(|pc| kernel.text(*pc).contains("ld.const")) {
        let line = kernel.line(pc);
        let said = format!(
            "{}: line {line} loads a constant at run time, so the compiler does not know it: write it in the code",
            scene.what()
        );
        let failure = Failure::new(Stage::Budget, said).at([line]);
        return Some(Failure { idea: Some(scene.task.idea.1), ..failure });
    }
    let line = (0..kernel.len() as u32).find_map(|pc| {
        let mut words = kernel.text(pc).split([' ', ',', ';', '[', ']', '{', '}', '|']);
        let op = words.find(|word| !word.starts_with('@'))?;
        let mut registers = words.filter(|word| word.starts_with('%'));
        let result = registers.next().filter(|_| !op.starts_with("st."))?;
        if registers.any(|register| sizes.contains(register)) {
            sizes.insert(result);
            return (op.starts_with("setp.") && op.ends_with("32")).then(|| kernel.line(pc));
        }
        None
    })?;
    let said = format!(
        "{}: line {line} tests the block size at run time, but the compiler knows it",
        scene.what()
    );
    let failure = Failure::new(Stage::Budget, said).at([line]);
    Some(Failure { idea: Some(scene.task.idea.1), ..failure })
}

/// Returns the lines of the PTX that access `double` values.
fn doubles(scene: &Scene<'_>) -> BTreeSet<u32> {
    let Ok(entry) = scene.entry() else { return BTreeSet::new() };
    let Some(kernel) = scene.module.kernel(&entry) else { return BTreeSet::new() };
    let pcs = 0..kernel.len() as u32;
    pcs.filter(|pc| kernel.text(*pc).contains(".f64")).map(|pc| kernel.ptx_line(pc)).collect()
}

/// Finds an atomic that is too narrow for a value and its flag. Returns the message and the line.
fn halves(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    if !matches!(scene.task.shape, Shape::Mailbox { .. }) {
        return None;
    }
    let rounds = seen.traced.iter().flat_map(|block| &block.rounds);
    let mut events = rounds.flat_map(|round| &round.events);
    let half = events.find(|event| event.what == "atomic" && event.bytes != 8)?;
    let said = format!(
        "an atomic of {} bytes cannot carry a value and its flag: publish and consume 64 bits in one operation",
        half.bytes
    );
    Some((said, half.line))
}

/// Returns a failure if the kernel leaves out a part of the lesson.
fn dodge(scene: &Scene<'_>, seen: &Seen) -> Option<Failure> {
    let limits = limits(scene);
    let size = scene.element.size();
    let failure = |said: String, line: u32| {
        let said = format!("{}: {said}", scene.what());
        Some(Failure::new(Stage::Budget, said).at([line]))
    };
    let doubles = doubles(scene);
    let of = |block: &BlockTrace| Work::of(block, &seen.input, &doubles, size);
    let found = copies::copies(scene, seen)
        .or_else(|| halves(scene, seen))
        .or_else(|| mailbox::messages(scene, seen))
        .or_else(|| shared::apart(scene, seen))
        .or_else(|| shared::read_back(scene, seen));
    if let Some((said, line)) = found {
        return failure(said, line);
    }
    let (adds, add) = match scene.task.operation {
        Operation::Sum => ("adds", "add"),
        Operation::Max => ("compares", "compare"),
        Operation::SumAndMax => ("combines", "combine"),
    };
    let works: Vec<(u64, Work)> =
        seen.traced.iter().map(|block| (block.block, of(block))).collect();
    let (all, line) = works.iter().fold((0, 0), |(sum, line), (_, work)| {
        (sum + work.atomics.0, if work.atomics.0 > 0 { work.atomics.1 } else { line })
    });
    if all > limits.atomics {
        let most = match limits.atomics {
            0 => "the exercise allows none: a sum by atomics is not a tree, because the lanes that change one value are served one after another".to_owned(),
            most if matches!(scene.task.shape, Shape::Mailbox { .. }) => format!("at most {} are allowed: one publishes a word and one consumes it; the last block should poll, because most messages have arrived when it does", group(most)),
            most => format!("at most {} are allowed: a block needs one ticket, which one thread takes", group(most)),
        };
        return failure(format!("the lanes execute {} atomics, but {most}", group(all)), line);
    }
    let idle = |work: &Work| {
        (0..scene.threads / 32).filter(|warp| work.by_warp(*warp) < limits.least).count() as u64
    };
    let all_idle: u64 = works.iter().map(|(_, work)| idle(work)).sum();
    for (block, work) in &works {
        let (thread, loaded, line) = busiest(&work.loaded);
        let most = match scene.task.shape {
            // A thread may load more than its share only because it loads a whole vector.
            Shape::Tiles { each } if !work.vectors => each + 1,
            _ => limits.loaded,
        };
        if loaded > most {
            return failure(
                format!(
                    "thread {thread} of block {block} loads {} of the {} elements, but at most {} are allowed: share the elements among all threads of {}",
                    group(loaded),
                    group(scene.n),
                    group(most),
                    blocks(scene.grid)
                ),
                line,
            );
        }
        let idle = (0..scene.threads / 32).find(|warp| work.by_warp(*warp) < limits.least);
        if let Some(warp) = idle.filter(|_| all_idle > spare(scene)) {
            return failure(
                format!(
                    "warp {warp} of block {block} loads {} of the {} elements, but its share is {}: share the elements among all warps of {}",
                    group(work.by_warp(warp)),
                    group(scene.n),
                    group(4 * limits.least),
                    blocks(scene.grid)
                ),
                line,
            );
        }
        let (thread, got, line) = busiest(&work.got);
        if let Some(most) = limits.got.filter(|most| got > *most) {
            return failure(
                format!(
                    "thread {thread} of block {block} reads {} values from memory and from other lanes, but at most {most} are allowed: the thread {adds} them one after another, whereas a tree takes {} rounds, in each of which a thread reads two values",
                    group(got),
                    scene.threads.next_power_of_two().ilog2()
                ),
                line,
            );
        }
        let (thread, burst, line) = busiest(&work.burst);
        // After shuffles, a thread may add the few values that the warps produce, unless the exercise
        // is about the tree of another operation.
        let few = work.shuffles && scene.task.operation == Operation::Sum;
        let warps = if few { u64::from(scene.threads / 32) } else { 0 };
        if let Some(most) = limits.burst.filter(|most| burst > warps.max(*most)) {
            return failure(
                format!(
                    "thread {thread} of block {block} reads {burst} values between two barriers, and at most {most} are allowed: it {adds} them one after another, but in a round of a tree a thread reads two values"
                ),
                line,
            );
        }
        let (warp, row, line) = busiest(&work.row);
        if let Some(most) = limits.row.filter(|most| row > *most) {
            return failure(
                format!(
                    "warp {warp} of block {block} executes {row} shuffles between two barriers, and at most {most} are allowed: it {adds} values one after another, but a tree over 32 lanes has 5 rounds"
                ),
                line,
            );
        }
        let (warp, waits, line) = busiest(&work.waits);
        if let Some(most) = limits.waits.filter(|most| waits > *most) {
            return failure(
                format!(
                    "warp {warp} of block {block} waits at {waits} barriers, but at most {most} are allowed: a tree over {} threads has {} rounds, one after another",
                    scene.threads,
                    scene.threads.next_power_of_two().ilog2()
                ),
                line,
            );
        }
        if let Some((warp, line)) = work.decoy().filter(|_| work.adding.len() == 1) {
            return failure(
                format!(
                    "warp {warp} of block {block} {adds} values, but no other warp reads the result, so one warp does all the work"
                ),
                line,
            );
        }
        let adding = work.adding.len() as u64;
        // A block that has no elements need not add anything.
        if adding < limits.adding && !work.loaded.is_empty() {
            let line = work.adding.values().next().copied().unwrap_or(0);
            let warps = if adding == 1 { format!("warp {adds}") } else { format!("warps {add}") };
            return failure(
                format!(
                    "only {adding} {warps} the values of block {block}, but at least {} of its {} warps must take part: the first rounds of a tree have work for many warps",
                    limits.adding,
                    scene.threads / 32
                ),
                line,
            );
        }
    }
    let sectors: u64 = works.iter().map(|(_, work)| work.sectors).sum();
    let least = (scene.n * size).div_ceil(32);
    // If each thread has more than one element, nearly every byte of a sector must be used.
    let more = if matches!(scene.task.shape, Shape::Tiles { each: 1 }) { least } else { least / 4 };
    let most = least + more + 8 * u64::from(scene.grid);
    // If the exercise has a budget for sectors, that budget gives its own advice.
    let budgeted = scene.task.budgets.iter().any(|budget| budget.cost.what == SECTORS.what);
    // A small input may lie in the part that a kernel adds without vectors.
    let small = scene.task.shape == Shape::Alone && scene.n < 1 << 14;
    if sectors > most && !budgeted && !small && scene.task.operation == Operation::Sum {
        return failure(
            format!(
                "the loads of the input touch {} sectors of 32 bytes, but at most {} are allowed: load each element once, and let neighbouring lanes load neighbouring elements",
                group(sectors),
                group(most)
            ),
            0,
        );
    }
    let found = copies::loads(scene, seen)
        .or_else(|| copies::order(scene, seen))
        .or_else(|| shared::added_late(scene, seen))
        .or_else(|| shared::scattered(scene, seen))
        .or_else(|| shared::repeated(scene, seen))
        .or_else(|| threads::rounded(scene))
        .or_else(|| ticket::tickets(scene, seen))
        .or_else(|| threads::loads(scene, seen))
        .or_else(|| threads::unshuffled(scene, seen))
        .or_else(|| threads::voted(scene, seen))
        .or_else(|| threads::alone(scene, seen))
        .or_else(|| threads::apart(scene, seen))
        .or_else(|| threads::spread(scene, seen));
    let found = found.and_then(|(said, line)| failure(said, line))?;
    Some(Failure { idea: Some(scene.task.idea.1), ..found })
}
