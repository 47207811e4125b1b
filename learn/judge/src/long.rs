//! Checks sizes beyond 2^31 and 2^32, because an index that is too narrow wraps only there. Also
//! checks sizes in between, which depend on the seed.

use std::ops::Range;

use numbers::{Element, group, mixed};
use simt::observe::Trace;
use simt::{Arg, Counts, Error, Gpu, Launch, TrapKind};

use crate::case::Case;
use crate::cost::{BARRIERS, INSTRUCTIONS, SHARED, SHUFFLES, WARP_BARRIERS};
use crate::held::once;
use crate::lesson::threads;
use crate::scene::{Scene, elements};
use crate::task::{Operation, Shape};
use crate::values::{lowest, read, shown};
use crate::verdict::{Failure, Stage};

/// The number of elements for a grid whose blocks have one tile each.
const N: u64 = (1 << 32) + 13;
/// The largest grid that CUDA allows.
pub(crate) const BLOCKS: u64 = (1 << 31) - 1;
/// The number of elements for a grid whose blocks divide them in any way.
const SHARED_OUT: u64 = 3 << 32;
/// The number of neighbouring blocks that are run. These blocks lie around 2^31 elements and at the
/// end of the grid; the whole grid would take too long.
const WINDOW: u64 = 2;

/// Returns the word that a page repeats, so that all of its elements have the same value.
fn word(element: Element, page: u64) -> u32 {
    let number = (mixed(page) % 1000 + 1) as u32;
    match element {
        Element::I32 => (mixed(page) % 1_000_003) as u32,
        Element::F32 => (number as f32).to_bits(),
        // Both words of a `double` are equal. Few bits are set, so the sum of a tile is not
        // rounded.
        Element::F64 => (f64::from(number % 15 + 1).to_bits() >> 32) as u32,
    }
}

/// Returns the value that all elements in a page of memory have.
fn value(element: Element, page: u64) -> f64 {
    let word = word(element, page);
    match element {
        Element::I32 => f64::from(word),
        Element::F32 => f64::from(f32::from_bits(word)),
        Element::F64 => f64::from_bits(u64::from(word) << 32 | u64::from(word)),
    }
}

/// Runs parts of launches with 2^31 elements and more. Returns the largest size, or `None` if no
/// such launch gives results.
pub(crate) fn long(case: &Case) -> Result<Option<&'static str>, Box<Failure>> {
    if usize::BITS < 64 {
        return Ok(None); // A web page has no memory for the list of pages.
    }
    match case.task.shape {
        Shape::Tiles { each } => {
            for (element, _) in &case.modules {
                tiles(case, each, *element)?;
            }
            Ok(Some("2^32+13"))
        }
        Shape::Shares { .. } => {
            shares(case)?;
            endless(case)?;
            counted(case)?;
            Ok(Some("3*2^32"))
        }
        shape => {
            endless(case)?;
            counted(case)?;
            if matches!(shape, Shape::Mailbox { .. }) {
                patient(case)?;
            }
            Ok(None)
        }
    }
}

/// Checks the results of blocks around 2^31 elements, of the last blocks, and of blocks somewhere
/// in grids whose sizes depend on the seed. In these blocks, a full tile must cost as much as in a
/// small grid.
fn tiles(case: &Case, each: u64, element: Element) -> Result<(), Box<Failure>> {
    let tile = each * u64::from(case.task.blocks[0]);
    let middle = (1 << 31) / tile;
    // A kernel may choose narrower indices below 2^32 elements.
    for n in [N, 1 << 32, (1 << 32) - 13] {
        let blocks = n.div_ceil(tile);
        // In the first block, the number of elements that are left is n itself.
        for window in [0..WINDOW, middle - 1..middle + 1, blocks - WINDOW..blocks] {
            windowed(case, each, element, n, window)?;
        }
    }
    if element == Element::F32 {
        // A `float` cannot represent odd block numbers beyond 2^24.
        let blocks = (1 << 24) + 6;
        windowed(case, each, element, blocks * tile - 13, blocks - WINDOW..blocks)?;
    }
    // A `float` rounds this size to the index of the first element of a warp with two elements.
    let n = (1u64 << 25) + 34;
    let blocks = n.div_ceil(tile);
    windowed(case, each, element, n, blocks - WINDOW..blocks)?;
    // The number of a group of elements may wrap in the largest grid.
    windowed(case, each, element, BLOCKS * tile - 13, BLOCKS - WINDOW..BLOCKS)?;
    for threads in &case.task.blocks[1..] {
        let blocks = N.div_ceil(each * u64::from(*threads));
        of_threads(case, *threads, each, element, N, blocks - WINDOW..blocks)?;
    }
    // One block more than needed: it has no elements.
    let full = (1 << 24) / tile;
    windowed(case, each, element, full * tile, full - 1..full + 1)?;
    let small = windowed(case, each, element, 8 * tile + 3, 1..1 + WINDOW)?;
    for power in [17, 20, 23, 26, 29, 31] {
        let random = mixed(case.seed ^ power << 48 ^ element.size());
        let n = (1u64 << power) + random % (1 << power);
        let blocks = n.div_ceil(tile);
        let first = 1 + (random >> 8) % (blocks - WINDOW - 2);
        let large = windowed(case, each, element, n, first..first + WINDOW)?;
        windowed(case, each, element, n, blocks - WINDOW..blocks)?;
        for cost in [INSTRUCTIONS, BARRIERS, WARP_BARRIERS, SHARED, SHUFFLES] {
            let (few, many) = ((cost.of)(&small), (cost.of)(&large));
            if few.abs_diff(many) > few / 4 + 8 {
                let scene = case.scene(element, n, case.task.blocks[0], blocks as u32);
                let said = format!(
                    "{}: {WINDOW} full tiles take {} {}, and {} if n is {}: the work for a tile must not depend on n",
                    scene.what(),
                    group(many),
                    cost.what,
                    group(few),
                    group(8 * tile + 3)
                );
                return Err(Box::new(Failure::new(Stage::Budget, said)));
            }
        }
    }
    Ok(())
}

/// Runs neighbouring blocks of a grid, checks their results, and returns their counts.
fn windowed(
    case: &Case,
    each: u64,
    element: Element,
    n: u64,
    window: Range<u64>,
) -> Result<Counts, Box<Failure>> {
    of_threads(case, case.task.blocks[0], each, element, n, window)
}

/// Like [`windowed`], for blocks of another size.
pub(crate) fn of_threads(
    case: &Case,
    threads: u32,
    each: u64,
    element: Element,
    n: u64,
    window: Range<u64>,
) -> Result<Counts, Box<Failure>> {
    let tile = each * u64::from(threads);
    let grid = n.div_ceil(tile).max(window.end);
    let scene = case.scene(element, n, threads, grid as u32);
    let refused = |error| Box::new(scene.refused(&error));
    let mut gpu = scene.gpu();
    gpu.config_mut().blocks = Some(window.clone());
    let size = element.size();
    // Beyond the simulated memory, only the elements of the window exist.
    let skipped = if n > N { size * tile * window.start / Gpu::PAGE * Gpu::PAGE } else { 0 };
    let input = sparse(&mut gpu, element).map_err(refused)?.wrapping_sub(skipped);
    let mut outputs = Vec::new();
    for _ in 0..case.task.operation.outputs() {
        outputs.push(gpu.alloc_sparse(size * grid, |_| u32::MAX).map_err(refused)?);
    }
    let mut watch = simt::checks();
    watch.0 = Some(Default::default());
    let launch = arguments(&scene, &[&[input][..], &outputs, &[n]].concat())?;
    gpu.launch_watched(scene.module, &launch.of(), Some(&mut watch)).map_err(refused)?;
    if let Some(finding) = simt::findings(&watch).iter().find(|finding| !finding.is_harmless()) {
        let said = format!("{}: {}", scene.what(), finding.sentence());
        let lines = finding.sites.iter().map(|site| site.line);
        return Err(Box::new(Failure::new(Stage::Clean, said).at(lines)));
    }
    for block in window {
        let range = (block * tile).min(n)..((block + 1) * tile).min(n);
        let pages = range.clone().map(|at| value(element, (size * at - skipped) / Gpu::PAGE));
        let (sum, max) = pages.fold((0.0, f64::NEG_INFINITY), |(s, m), v| (s + v, f64::max(m, v)));
        for (which, output) in outputs.iter().enumerate() {
            let mut bytes = vec![0; size as usize];
            gpu.read(output + size * block, &mut bytes).map_err(refused)?;
            let given = read(element, &bytes)[0];
            let is_max = case.task.operation == Operation::Max || which == 1;
            let expected = if is_max { max.max(lowest(element)) } else { sum };
            if given != expected {
                let range = range.start as usize..range.end as usize;
                let wraps = match n >> 31 {
                    0 => "",
                    _ => {
                        ": if an index has 32 bits, it wraps at 2^32, and an `int` at 2^31: make the index `unsigned long long`, and cast `blockIdx.x` to that type before the multiplication"
                    }
                };
                let said = format!(
                    "{}: block {block}, which has {}, gave {} instead of {}{wraps}",
                    scene.what(),
                    elements(&range),
                    shown(element, given),
                    shown(element, expected)
                );
                return Err(Box::new(Failure::new(Stage::Right, said)));
            }
        }
    }
    Ok(watch.0.map_or_else(Counts::default, |(counters, _)| counters.total))
}

/// Runs parts of a grid with many elements per thread, and parts of a grid with more than 2^32
/// threads.
fn shares(case: &Case) -> Result<(), Box<Failure>> {
    // There are 3 * 2^30 vectors, 32 per thread. The simulated memory cannot hold 2^32 of them.
    shared_out(case, SHARED_OUT, 4 * 32)?;
    shared_out(case, N, 1)?;
    // The stride is more than 2^30 vectors.
    shared_out(case, SHARED_OUT, 10)?;
    shared_out(case, (1 << 32) - 13, 4 * 8)?;
    // Other sizes and grids, which depend on the seed.
    for power in [20, 25, 29] {
        let random = mixed(case.seed ^ power << 50);
        let n = (1u64 << power) + random % (7 << power);
        shared_out(case, n, 64 * (1 + (random >> 40) % 8))?;
    }
    Ok(())
}

/// Runs the blocks at five positions in a grid whose threads have `each` elements. No two blocks
/// may add the same element, and in total the blocks must add about their share of the elements.
pub(crate) fn shared_out(case: &Case, n: u64, each: u64) -> Result<(), Box<Failure>> {
    let threads = case.task.blocks[0];
    let grid = n / (each * u64::from(threads)) + u64::from(each == 1);
    let scene = case.scene(Element::F32, n, threads, grid as u32);
    let refused = |error| Box::new(scene.refused(&error));
    let mut seen: Vec<(u64, u64, u64)> = Vec::new();
    for window in 0..5 {
        let first = window * (grid - WINDOW) / 4;
        let mut gpu = scene.gpu();
        gpu.config_mut().blocks = Some(first..first + WINDOW);
        let input = sparse(&mut gpu, Element::F32).map_err(refused)?;
        let output = gpu.alloc_sparse(4 * grid, |_| u32::MAX).map_err(refused)?;
        let mut watch = simt::Watch::default();
        watch.4.0 = Some(Trace::with_copies(grid));
        let launch = arguments(&scene, &[input, output, n])?;
        match gpu.launch_watched(scene.module, &launch.of(), Some(&mut watch)) {
            // Kernels whose blocks each add all elements have been rejected before.
            Err(Error::Trap(trap)) if trap.kind == TrapKind::Budget => {
                let said = format!(
                    "{}: line {} is executed without end: if an index has 32 bits, it wraps at 2^32 and never reaches n: make the index and the stride `unsigned long long`, and cast `blockIdx.x` to that type before the multiplication",
                    scene.what(),
                    trap.line
                );
                return Err(Box::new(Failure::new(Stage::Right, said).at([trap.line])));
            }
            ended => ended.map_err(refused)?,
        }
        let traced = watch.4.0.map_or_else(Vec::new, |trace| trace.blocks);
        if let Some((said, line)) = threads::spread_in(&scene, &traced, &(input..input + 4 * n)) {
            // The budget for sectors gives better advice if the lanes are apart at every size.
            let small = Scene { traced: true, ..case.scene(Element::F32, 1 << 15, threads, 5) };
            let seen = once(&small, case.seed)?;
            if threads::spread_in(&small, &seen.traced, &seen.input).is_none() {
                let said = format!("{}: {said}", scene.what());
                return Err(Box::new(Failure::new(Stage::Budget, said).at([line])));
            }
        }
        for block in traced {
            let events = block.rounds.iter().flat_map(|round| &round.events);
            for event in events {
                let from: &[u64] = match (event.what, event.space) {
                    ("load", "global") => &event.addresses,
                    ("copy" | "async copy", _) => std::slice::from_ref(&event.source),
                    _ => continue,
                };
                let many = u64::from(event.bytes) / 4;
                if many == 0 {
                    let said = format!(
                        "{}: a copy has 0 bytes: a number of bytes or of elements is too large for 32 bits; limit it to a stage before you make it an `unsigned int`",
                        scene.what()
                    );
                    return Err(Box::new(Failure::new(Stage::Right, said).at([event.line])));
                }
                seen.extend(from.iter().map(|at| (at.wrapping_sub(input) / 4, many, block.block)));
            }
        }
    }
    let added: u64 = seen.iter().map(|(_, many, _)| many).sum();
    // If there is less than one vector for each thread, some blocks have no vector.
    let share = if each == 1 { 0 } else { 5 * WINDOW * each * u64::from(threads) };
    if added < share / 4 * 3 {
        let said = format!(
            "{}: {} of the blocks add {} elements in total, but their share is {}: a 32-bit number is too small for n, for an index or for the stride; make all of them `unsigned long long`",
            scene.what(),
            5 * WINDOW,
            group(added),
            group(share)
        );
        return Err(Box::new(Failure::new(Stage::Right, said)));
    }
    seen.sort_unstable();
    let twice = seen.windows(2).find(|pair| pair[0].0 + pair[0].1 > pair[1].0);
    if let Some(&[(_, _, a), (at, _, b)]) = twice {
        let said = format!(
            "{}: element {at} is added by block {} and by block {}: if an index has 32 bits, it wraps at 2^32: make the index and the stride `unsigned long long`, and cast `blockIdx.x` to that type before the multiplication",
            scene.what(),
            group(a),
            group(b)
        );
        return Err(Box::new(Failure::new(Stage::Right, said)));
    }
    Ok(())
}

/// A limit on the instructions of a block, chosen so low that a block cannot load 2^33 elements.
const ENDS: u64 = 1 << 21;

/// Checks that one block with very many elements exceeds the budget of this run, as every correct
/// kernel does.
fn endless(case: &Case) -> Result<(), Box<Failure>> {
    // The low 32 bits of the first size are 13, and a quarter of this size is negative as an `int`.
    // The low 32 bits of a quarter of the second size are 0. The simulated memory holds only three
    // quarters of its elements, but a block loads only a few of them before it reaches the limit on
    // instructions.
    unending(case, (1 << 33) + 13)?;
    unending(case, 1 << 34)
}

fn unending(case: &Case, n: u64) -> Result<(), Box<Failure>> {
    let scene = case.scene(Element::F32, n, case.task.blocks[0], 1);
    match one_block(&scene, ENDS)? {
        Err(_) => Ok(()), // The kernel exceeds the budget, as every correct kernel must.
        Ok(_) => {
            let said = format!(
                "{}: the kernel ends after fewer than {} instructions, which cannot load all elements: n does not fit in 32 bits; keep n, and all values that are computed from it, in `unsigned long long`",
                scene.what(),
                group(ENDS)
            );
            Err(Box::new(Failure::new(Stage::Right, said)))
        }
    }
}

/// The number of loads of a block with many iterations: a `float` cannot represent it, and an
/// iteration counter of 16 bits is too small if an iteration adds one element per thread.
const MANY: u64 = (1 << 24) + 1;

/// Checks the sum of one block with very many iterations.
fn counted(case: &Case) -> Result<(), Box<Failure>> {
    // In most exercises, a load has four elements. A ring takes more instructions for each of them.
    let each = if [9, 15, 17].contains(&case.task.number) { 1 } else { 4 };
    for (element, n) in [(Element::I32, each * MANY), (Element::F64, (1 << 20) + 1)] {
        if !case.has(element) {
            continue;
        }
        let scene = case.scene(element, n, case.task.blocks[0], 1);
        let given = one_block(&scene, 1 << 24)?.map_err(|error| Box::new(scene.refused(&error)))?;
        let size = element.size();
        let of = |page: u64| (n - page * Gpu::PAGE / size).min(Gpu::PAGE / size) as f64;
        let pages = 0..(size * n).div_ceil(Gpu::PAGE);
        let sum: f64 = pages.map(|page| of(page) * value(element, page)).sum();
        // Sums of integers wrap, and sums of doubles are rounded, but not to the precision of `float`.
        let (expected, bound) = match element {
            Element::I32 => (f64::from(sum as u64 as u32 as i32), 0.0),
            _ => (sum, 1e-11 * sum),
        };
        if (given - expected).abs() > bound {
            let said = format!(
                "{}: the sum is {} instead of {}: count the iterations in `unsigned long long`, or compare an index with n; add in the type `Element`",
                scene.what(),
                shown(element, given),
                shown(element, expected)
            );
            return Err(Box::new(Failure::new(Stage::Right, said)));
        }
    }
    Ok(())
}

/// The number of instructions in which a block polls millions of times.
const POLLS: u64 = 1 << 24;

/// Checks that the block that polls for a message waits as long as it takes: of two blocks, each is
/// run without the other, and one of them must not end.
fn patient(case: &Case) -> Result<(), Box<Failure>> {
    let scene = case.scene(Element::F32, 513, case.task.blocks[0], 2);
    for block in 0..2 {
        let alone = Scene { window: Some((block, block + 1)), watched: false, ..scene };
        if one_block(&alone, POLLS)?.is_err() {
            return Ok(());
        }
    }
    let said = format!(
        "{}: each block ends even if the other one has not started: poll until the message is there, however long it takes",
        scene.what()
    );
    Err(Box::new(Failure::new(Stage::Right, said)))
}

/// Launches one block on elements of a sparse input. Returns its sum, or the error if the launch
/// fails, for example because the block exceeds the budget.
fn one_block(scene: &Scene<'_>, budget: u64) -> Result<Result<f64, Error>, Box<Failure>> {
    let refused = |error| Box::new(scene.refused(&error));
    let (shape, size) = (scene.task.shape, scene.element.size());
    let mut gpu = scene.gpu();
    let config = gpu.config_mut();
    (config.block_budget, config.budget) = (budget, 8 * budget);
    let input = sparse(&mut gpu, scene.element).map_err(refused)?;
    let output = gpu.alloc(size).map_err(refused)?;
    let mut args = vec![input, output, scene.n];
    if matches!(shape, Shape::Single { .. }) {
        let partials = gpu.alloc(size * crate::task::PARTIALS).map_err(refused)?;
        let tickets = gpu.alloc(4).map_err(refused)?;
        gpu.fill(tickets, 0, 4).map_err(refused)?;
        args.extend([partials, tickets]);
    }
    if matches!(shape, Shape::Mailbox { .. }) {
        let slots = gpu.alloc(32).map_err(refused)?;
        gpu.fill(slots, 0, 32).map_err(refused)?;
        args.push(slots);
    }
    let launch = arguments(scene, &args)?;
    if let Err(error) = gpu.launch_watched(scene.module, &launch.of(), None) {
        return Ok(Err(error));
    }
    let mut bytes = vec![0; size as usize];
    gpu.read(output, &mut bytes).map_err(refused)?;
    Ok(Ok(read(scene.element, &bytes)[0]))
}

/// Allocates an input whose memory use does not depend on the number of elements.
fn sparse(gpu: &mut Gpu, element: Element) -> Result<u64, Error> {
    let bytes = if element == Element::F64 { 8 * N } else { 4 * SHARED_OUT };
    gpu.alloc_sparse(bytes, |page| word(element, page))
}

/// The data of a launch, as owned values.
struct Owned {
    entry: String,
    grid: u32,
    threads: u32,
    shared: u32,
    args: Vec<Arg>,
}

impl Owned {
    fn of(&self) -> Launch<'_> {
        Launch {
            entry: &self.entry,
            grid: [self.grid, 1, 1],
            block: [self.threads, 1, 1],
            cluster: [1, 1, 1],
            shared: self.shared,
            args: self.args.clone(),
        }
    }
}

fn arguments(scene: &Scene<'_>, args: &[u64]) -> Result<Owned, Box<Failure>> {
    Ok(Owned {
        entry: scene.entry()?,
        grid: scene.grid,
        threads: scene.threads,
        shared: scene.task.shared(scene.threads, scene.element),
        args: args.iter().map(|arg| Arg::U64(*arg)).collect(),
    })
}
