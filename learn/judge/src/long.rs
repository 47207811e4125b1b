//! Checks sizes beyond 31 and 32 bits, because an index that is too narrow wraps only there.

use numbers::{Element, group, mixed};
use simt::observe::Trace;
use simt::{Arg, Error, Gpu, Launch, TrapKind};

use crate::case::Case;
use crate::scene::{Scene, elements};
use crate::task::{Operation, Shape};
use crate::values::{read, shown};
use crate::verdict::{Failure, Stage};

/// The number of elements for a grid whose blocks have one tile each.
const N: u64 = (1 << 32) + 13;
/// The number of neighbouring blocks that are run. They lie around 2^31 elements and at the end of
/// the grid; the whole grid would take too long.
const WINDOW: u64 = 2;

/// Returns the word that a page repeats, so that all of its elements have the same value.
fn word(element: Element, page: u64) -> u32 {
    let number = (mixed(page) % 1000 + 1) as u32;
    match element {
        Element::I32 => number,
        Element::F32 => (number as f32).to_bits(),
        // Both words of a `double` are equal. Few bits are set, so the sum of a tile does not
        // round.
        Element::F64 => (f64::from(number % 15 + 1).to_bits() >> 32) as u32,
    }
}

/// Returns the value of the elements of a page.
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
        Shape::Shares { .. } if !case.task.copies => {
            shares(case)?;
            Ok(Some("3*2^32"))
        }
        _ => {
            // The low 32 bits of this size are 13, and a quarter of it is negative as an `int`.
            endless(case, (1 << 33) + 13)?;
            Ok(None)
        }
    }
}

/// Checks the results of the blocks around 2^31 elements, and of the last blocks.
fn tiles(case: &Case, each: u64, element: Element) -> Result<(), Box<Failure>> {
    let threads = case.task.blocks[0];
    let tile = each * u64::from(threads);
    let grid = N.div_ceil(tile);
    let middle = (1 << 31) / tile;
    for window in [middle - 1..middle + 1, grid - WINDOW..grid] {
        let scene = case.scene(element, N, threads, grid as u32);
        let refused = |error| Box::new(scene.refused(&error));
        let mut gpu = scene.gpu();
        gpu.config_mut().blocks = Some(window.clone());
        let input = sparse(&mut gpu, element).map_err(refused)?;
        let size = element.size();
        let mut outputs = Vec::new();
        for _ in 0..case.task.operation.outputs() {
            outputs.push(gpu.alloc_sparse(size * grid, |_| u32::MAX).map_err(refused)?);
        }
        launched(&scene, &mut gpu, &[&[input][..], &outputs, &[N]].concat()).map_err(refused)?;
        for block in window {
            let range = block * tile..((block + 1) * tile).min(N);
            let pages = range.clone().map(|at| value(element, size * at / Gpu::PAGE));
            let (sum, max) =
                pages.fold((0.0, f64::NEG_INFINITY), |(s, m), v| (s + v, f64::max(m, v)));
            for (which, output) in outputs.iter().enumerate() {
                let mut bytes = vec![0; size as usize];
                gpu.read(output + size * block, &mut bytes).map_err(refused)?;
                let given = read(element, &bytes)[0];
                let is_max = case.task.operation == Operation::Max || which == 1;
                let expected = if is_max { max } else { sum };
                if given != expected {
                    let range = range.start as usize..range.end as usize;
                    let said = format!(
                        "{}: block {block}, which has {}, gave {} instead of {}: a 32-bit index wraps at 2^32, and an `int` at 2^31; make the index `unsigned long long`, and cast `blockIdx.x` to that type before the multiplication",
                        scene.what(),
                        elements(&range),
                        shown(element, given),
                        shown(element, expected)
                    );
                    return Err(Box::new(Failure::new(Stage::Right, said)));
                }
            }
        }
    }
    Ok(())
}

/// Runs the blocks at five places of a large grid. No element may be added by two of them, and in
/// total they must add about their share of the elements.
fn shares(case: &Case) -> Result<(), Box<Failure>> {
    // There are 3 * 2^30 vectors, 32 for each thread.
    const N: u64 = 3 << 32;
    const EACH: u64 = 4 * 32;
    let threads = case.task.blocks[0];
    let grid = N / (EACH * u64::from(threads));
    let scene = case.scene(Element::F32, N, threads, grid as u32);
    let refused = |error| Box::new(scene.refused(&error));
    let mut seen: Vec<(u64, u64, u64)> = Vec::new();
    for window in 0..5 {
        let first = window * (grid - WINDOW) / 4;
        let mut gpu = scene.gpu();
        gpu.config_mut().blocks = Some(first..first + WINDOW);
        let input = sparse(&mut gpu, Element::F32).map_err(refused)?;
        let output = gpu.alloc_sparse(4 * grid, |_| u32::MAX).map_err(refused)?;
        let mut watch = simt::Watch::default();
        watch.4.0 = Some(Trace::new(grid));
        let launch = arguments(&scene, &[input, output, N])?;
        match gpu.launch_watched(scene.module, &launch.of(), Some(&mut watch)) {
            // Blocks that add all elements have been rejected before.
            Err(Error::Trap(trap)) if trap.kind == TrapKind::Budget => {
                let said = format!(
                    "{}: line {} is executed without end: a 32-bit index wraps at 2^32, so it never reaches n; make the index and the stride `unsigned long long`, and cast `blockIdx.x` to that type before the multiplication",
                    scene.what(),
                    trap.line
                );
                return Err(Box::new(Failure::new(Stage::Right, said).at([trap.line])));
            }
            ended => ended.map_err(refused)?,
        }
        for block in watch.4.0.map_or_else(Vec::new, |trace| trace.blocks) {
            let events = block.rounds.iter().flat_map(|round| &round.events);
            let loads = events.filter(|event| event.what == "load" && event.space == "global");
            seen.extend(loads.flat_map(|event| {
                let bytes = u64::from(event.bytes);
                let lanes = event.addresses.iter();
                lanes.map(move |at| (at.wrapping_sub(input) / 4, bytes / 4, block.block))
            }));
        }
    }
    let added: u64 = seen.iter().map(|(_, many, _)| many).sum();
    let share = 5 * WINDOW * EACH * u64::from(threads);
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
            "{}: element {at} is added by block {} and by block {}: a 32-bit index wraps at 2^32; make the index and the stride `unsigned long long`, and cast `blockIdx.x` to that type before the multiplication",
            scene.what(),
            group(a),
            group(b)
        );
        return Err(Box::new(Failure::new(Stage::Right, said)));
    }
    Ok(())
}

/// Checks that one block with very many elements exceeds the budget of this run, as every correct
/// kernel does.
fn endless(case: &Case, n: u64) -> Result<(), Box<Failure>> {
    let scene = case.scene(Element::F32, n, case.task.blocks[0], 1);
    let refused = |error| Box::new(scene.refused(&error));
    let mut gpu = scene.gpu();
    gpu.config_mut().block_budget = 1 << 17;
    let input = sparse(&mut gpu, Element::F32).map_err(refused)?;
    let output = gpu.alloc(4).map_err(refused)?;
    let mut args = vec![input, output, n];
    if matches!(case.task.shape, Shape::Single { .. }) {
        let partials = gpu.alloc(4 * crate::task::PARTIALS).map_err(refused)?;
        let tickets = gpu.alloc(4).map_err(refused)?;
        gpu.fill(tickets, 0, 4).map_err(refused)?;
        args.extend([partials, tickets]);
    }
    if matches!(case.task.shape, Shape::Mailbox { .. }) {
        let slots = gpu.alloc(16).map_err(refused)?;
        gpu.fill(slots, 0, 16).map_err(refused)?;
        args.push(slots);
    }
    match launched(&scene, &mut gpu, &args) {
        Err(_) => Ok(()), // The budget is exceeded, as it must be.
        Ok(()) => {
            let said = format!(
                "{}: the kernel ends after fewer than {} instructions, which cannot load all elements: n does not fit in 32 bits; keep n, and all values that are computed from it, in `unsigned long long`",
                scene.what(),
                group(1 << 17)
            );
            Err(Box::new(Failure::new(Stage::Right, said)))
        }
    }
}

/// Allocates an input that takes no memory for each element.
fn sparse(gpu: &mut Gpu, element: Element) -> Result<u64, Error> {
    let bytes = if element == Element::F64 { 8 * N } else { 12 << 32 };
    gpu.alloc_sparse(bytes, |page| word(element, page))
}

/// The owned parts of a launch.
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

fn launched(scene: &Scene<'_>, gpu: &mut Gpu, args: &[u64]) -> Result<(), Error> {
    let launch = arguments(scene, args).map_err(|failure| Error::Launch(failure.said.clone()))?;
    gpu.launch_watched(scene.module, &launch.of(), None)
}
