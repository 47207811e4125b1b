//! Checks the results of a kernel at increasing sizes.

use numbers::{Element, group, mixed};
use simt::{Arch, Schedule};

use crate::case::{Case, Said};
use crate::held::{held, held_by, once, wrong};
use crate::lesson::lesson;
use crate::long;
use crate::scene::{Scene, blocks, elements};
use crate::task::{Operation, SIZES, Shape};
use crate::values::{Draw, Values, cancelling, magnitude, shown, subnormal};
use crate::verdict::{Failure, Stage};

/// Sizes with many elements per thread, and with grids of many blocks.
const LONG: [u64; 5] = [14_739, 1 << 14, (1 << 15) + 3, 1 << 21, (1 << 21) + 1];

/// Sizes that are tried with the other block sizes.
const FEW: [u64; 4] = [1, 513, 65, 2051];

/// Tests every size in every type, then other block sizes, large grids, and sizes beyond 32 bits.
pub(crate) fn right(case: &Case) -> Said {
    let (usual, others) = case.task.blocks.split_first().expect("every task has a block size");
    // The empty input is the rarest case, so it comes after the sizes that show a fault more
    // clearly.
    for n in SIZES[1..].iter().chain([&SIZES[0]]) {
        for (element, _) in &case.modules {
            for grid in case.task.shape.grids(*n, *usual) {
                held(&case.scene(*element, *n, *usual, grid), case.seed)?;
            }
        }
    }
    for (k, (element, _)) in (0..).zip(&case.modules) {
        // This size depends on the seed, so no kernel can be written for this size alone.
        let n = 1 + mixed(case.seed ^ (k << 40)) % 3000;
        for grid in case.task.shape.grids(n, *usual) {
            held(&case.scene(*element, n, *usual, grid), case.seed)?;
        }
    }
    if matches!(case.task.shape, Shape::Tiles { .. }) {
        for (element, _) in &case.modules {
            let grid = case.task.shape.grids(513, *usual)[0] + 1;
            held(&case.scene(*element, 513, *usual, grid), case.seed)?;
        }
    }
    for threads in others {
        for (element, _) in &case.modules {
            let sizes = if *element == Element::F32 { &FEW[..] } else { &FEW[2..] };
            for n in sizes {
                for grid in case.task.shape.grids(*n, *threads) {
                    held(&case.scene(*element, *n, *threads, grid), case.seed)?;
                }
            }
        }
    }
    peaks(case)?;
    magnitudes(case)?;
    subnormals(case)?;
    specials(case)?;
    zeros(case)?;
    let types = case.modules.len();
    let types = if types == 1 { "float alone".into() } else { format!("{types} types") };
    let mut said = format!("for {} awkward sizes, {types}", SIZES.len());
    if !others.is_empty() {
        said += &format!(", {} block sizes", 1 + others.len());
    }
    if !matches!(case.task.shape, Shape::Tiles { .. }) {
        // At the sizes that follow, a kernel in which one thread or block does all the work would
        // take too long.
        lesson(case)?;
    }
    if let Some(most) = case.task.shape.most() {
        // The largest grid is checked only once, because checking so many blocks takes a long time.
        held(&case.scene(Element::F32, 1026, *usual, most), case.seed)?;
        for (element, n) in [(Element::F32, 300_007), (Element::F64, 4099), (Element::I32, 0)] {
            if case.has(element) {
                let scene = case.scene(element, n, *usual, most);
                held(&Scene { watched: false, ..scene }, case.seed)?;
            }
        }
        said += &format!(", grids of up to {} blocks", group(most.into()));
    }
    if !matches!(case.task.shape, Shape::Tiles { .. }) {
        for n in LONG {
            // Long launches use the largest grid.
            let grids = case.task.shape.grids(n, *usual);
            let few = if n > 1 << 20 { grids.len() - 1 } else { 0 };
            for grid in &grids[few..] {
                let scene = case.scene(Element::F32, n, *usual, *grid);
                once(&Scene { watched: false, ..scene }, case.seed)?;
            }
        }
        said += ", sizes up to 2^21+1";
    }
    if let Some(most) = long::long(case)? {
        said += &format!(", and {most} elements");
    }
    if case.task.same_bits {
        same_bits(case)?;
        said += match case.task.shape {
            Shape::Mailbox { .. } => "; the same bits in every order",
            _ => "; the same bits on every grid, in every order",
        };
    }
    Ok(said)
}

/// Checks sums of numbers of very different magnitudes. No such sum is exact, but the result of
/// every tree is within the bound on its rounding errors. A sum in fixed point or in a shorter type
/// is not within this bound.
fn magnitudes(case: &Case) -> Result<(), Box<Failure>> {
    if case.task.operation == Operation::Max {
        return Ok(());
    }
    let threads = case.task.blocks[0];
    let floats = case.modules.iter().filter(|(element, _)| *element != Element::I32);
    for (element, n) in floats.flat_map(|(element, _)| [1, 33, 1025].map(|n| (*element, n))) {
        let grid = case.task.shape.grids(n, threads)[0];
        let scene = Scene { watched: false, ..case.scene(element, n, threads, grid) };
        let (numbers, bytes) = magnitude(element, n, case.seed);
        let seen = scene.run_bytes(&bytes)?;
        let results = &seen.left[0].results[0];
        let shares = matches!(case.task.shape, Shape::Shares { .. });
        let results = if shares { &vec![results.iter().sum::<f64>()] } else { results };
        for (at, given) in results.iter().enumerate() {
            let range = held_by(&scene, at);
            let of = &numbers[range.clone()];
            let (sum, size): (f64, f64) = (exact(of), of.iter().map(|x| x.abs()).sum());
            let eps = if element == Element::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
            let bound = if of.len() < 2 { 0.0 } else { 2.0 * of.len() as f64 * eps * size };
            let off = (given - sum).abs();
            // This comparison is false for NaN, which is not within the bound.
            if off <= bound {
                continue;
            }
            let said = format!(
                "{}: for numbers of very different magnitudes, the sum of {} is {} instead of {}, which is off by more than rounding explains: add in the type `Element`, not in a shorter one or in integers",
                scene.what(),
                elements(&range),
                shown(element, *given),
                shown(element, sum)
            );
            return Err(Box::new(Failure::new(Stage::Right, said)));
        }
    }
    Ok(())
}

/// Checks sums of subnormal numbers, which are exact.
fn subnormals(case: &Case) -> Result<(), Box<Failure>> {
    if case.task.operation == Operation::Max {
        return Ok(());
    }
    let (threads, n) = (case.task.blocks[0], 300 + case.seed % 1000);
    for (element, _) in case.modules.iter().filter(|(element, _)| *element != Element::I32) {
        let grid = case.task.shape.grids(n, threads)[0];
        let scene = Scene { watched: false, ..case.scene(*element, n, threads, grid) };
        // An atomic addition of floats replaces subnormal numbers by 0. The lesson limits atomics.
        let entry = scene.entry()?;
        let kernel = scene.module.kernel(&entry).expect("the entry was found");
        let is_atomic = |text: &str| text.contains("atom.") || text.contains("red.");
        if (0..kernel.len() as u32)
            .any(|pc| is_atomic(kernel.text(pc)) && kernel.text(pc).contains(".add.f"))
        {
            continue;
        }
        let (numbers, bytes) = subnormal(*element, n, case.seed);
        let results = scene.run_bytes(&bytes)?.left.remove(0).results.remove(0);
        let shares = matches!(case.task.shape, Shape::Shares { .. });
        let results = if shares { vec![results.iter().sum::<f64>()] } else { results };
        for (at, given) in results.into_iter().enumerate() {
            let range = held_by(&scene, at);
            let sum: f64 = numbers[range.clone()].iter().sum();
            if given != sum {
                let said = format!(
                    "{}: the elements are subnormal numbers, which are close to 0, and the sum of {} is {given:e} instead of {sum:e}: use ordinary additions, which do not replace subnormal numbers by 0",
                    scene.what(),
                    elements(&range),
                );
                return Err(Box::new(Failure::new(Stage::Right, said)));
            }
        }
    }
    Ok(())
}

/// Checks sums with a NaN, an infinity or the largest number among the elements: the sums that
/// contain it must have its value, because the other elements are small or 0, and no other sum may
/// change.
fn specials(case: &Case) -> Result<(), Box<Failure>> {
    if case.task.operation == Operation::Max {
        return Ok(());
    }
    let threads = case.task.blocks[0];
    let n = 1025 + case.seed % 100;
    let somewhere = (mixed(case.seed) % n) as usize;
    let grid = *case.task.shape.grids(n, threads).last().expect("a grid");
    let floats = case.modules.iter().filter(|(element, _)| *element != Element::I32);
    let all = floats.flat_map(|(element, _)| {
        let largest = if *element == Element::F32 { f64::from(f32::MAX) } else { f64::MAX };
        let last = n as usize - 1;
        let small = Draw::Signed;
        [(f64::NAN, somewhere), (f64::INFINITY, last), (largest, somewhere)]
            .map(|(special, at)| (*element, n, grid, special, at, Some(small)))
            .into_iter()
            .chain([(*element, n, grid, f64::NAN, somewhere, None)])
    });
    // The second of five tiles of 1024 elements has the infinity, and the last tile is short: a
    // ring of three stages then holds both in the same stage.
    let (long, at) = (4136 + case.seed % 50, 2047 - (case.seed % 500) as usize);
    let stale = (Element::F32, long, 1, f64::INFINITY, at, Some(Draw::Signed));
    let is_ring = matches!(case.task.shape, Shape::Shares { .. });
    for (element, n, grid, special, at, others) in all.chain(is_ring.then_some(stale)) {
        let scene = Scene { watched: false, ..case.scene(element, n, threads, grid) };
        let values = others.map(|draw| Values::draw(element, n, case.seed, draw));
        let size = element.size() as usize;
        let mut bytes = values.as_ref().map_or_else(|| vec![0; size * n as usize], Values::bytes);
        let place = &mut bytes[size * at..size * (at + 1)];
        match element {
            Element::F32 => place.copy_from_slice(&(special as f32).to_le_bytes()),
            _ => place.copy_from_slice(&special.to_le_bytes()),
        }
        let results = scene.run_bytes(&bytes)?.left.remove(0).results.remove(0);
        let shares = matches!(case.task.shape, Shape::Shares { .. });
        let results = if shares { vec![results.iter().sum::<f64>()] } else { results };
        for (index, given) in results.into_iter().enumerate() {
            let range = held_by(&scene, index);
            let expected = match range.contains(&at) {
                true => special,
                false => values
                    .as_ref()
                    .map_or(0.0, |values| values.result(range.clone(), Operation::Sum, false)),
            };
            if given.to_bits() != expected.to_bits() && !(given.is_nan() && expected.is_nan()) {
                let advice = match special == f64::INFINITY || special.is_nan() {
                    true => "leave out no element, and multiply none by 0",
                    false => "compute no intermediate value that is larger than the sum",
                };
                let said = format!(
                    "{}, where `in[{at}]` is {}: the sum of {} is {} instead of {}: {advice}",
                    scene.what(),
                    shown(element, special),
                    elements(&range),
                    shown(element, given),
                    shown(element, expected)
                );
                return Err(Box::new(Failure::new(Stage::Right, said)));
            }
        }
    }
    Ok(())
}

/// Checks maxima of inputs that consist of negative numbers and a single zero, and of inputs whose
/// elements all are the lowest value. Both halves of the first tile are tried as the place of the
/// zero.
fn zeros(case: &Case) -> Result<(), Box<Failure>> {
    if case.task.operation == Operation::Sum {
        return Ok(());
    }
    let threads = case.task.blocks[0];
    for (k, (element, _)) in (0..).zip(&case.modules) {
        let n = 1025 + case.seed % 100;
        let at = mixed(case.seed ^ k) % u64::from(threads) + k % 2 * u64::from(threads);
        let grid = case.task.shape.grids(n, threads)[0];
        let scene = Scene { watched: false, ..case.scene(*element, n, threads, grid) };
        let values = Values::draw(*element, n, case.seed, Draw::Negative);
        let (mut bytes, size) = (values.bytes(), element.size());
        lows(&scene)?;
        bytes[(size * at) as usize..(size * (at + 1)) as usize].fill(0);
        let maxima = scene.run_bytes(&bytes)?.left.remove(0).results.pop().expect("the maxima");
        for (index, given) in maxima.into_iter().enumerate() {
            let range = held_by(&scene, index);
            let is_zero = range.contains(&(at as usize));
            if is_zero && given != 0.0 {
                let said = format!(
                    "{}, where all elements are negative but `in[{at}]`, which is 0: the maximum of {} is {} instead of 0",
                    scene.what(),
                    elements(&range),
                    shown(*element, given)
                );
                return Err(Box::new(Failure::new(Stage::Right, said)));
            }
        }
    }
    Ok(())
}

/// Checks maxima of elements that all are the lowest value: minus infinity, or the smallest `int`.
fn lows(scene: &Scene<'_>) -> Result<(), Box<Failure>> {
    let (lowest, bytes) = match scene.element {
        Element::I32 => (f64::from(i32::MIN), i32::MIN.to_le_bytes().to_vec()),
        Element::F32 => (f64::NEG_INFINITY, f32::NEG_INFINITY.to_le_bytes().to_vec()),
        Element::F64 => (f64::NEG_INFINITY, f64::NEG_INFINITY.to_le_bytes().to_vec()),
    };
    let seen = scene.run_bytes(&bytes.repeat(scene.n as usize))?;
    let maxima = seen.left[0].results.last().expect("the maxima");
    match maxima.iter().find(|given| **given != lowest) {
        None => Ok(()),
        Some(given) => {
            let said = format!(
                "{}, where all elements are {}: a maximum is {}: the neutral element of the maximum is the lowest value of the type",
                scene.what(),
                shown(scene.element, lowest),
                shown(scene.element, *given)
            );
            Err(Box::new(Failure::new(Stage::Right, said)))
        }
    }
}

/// Returns the sum plus the rounding errors of its additions (Neumaier's algorithm).
fn exact(of: &[f64]) -> f64 {
    let (mut sum, mut error) = (0.0f64, 0.0);
    for x in of {
        let next = sum + x;
        error += if sum.abs() >= x.abs() { (sum - next) + x } else { (x - next) + sum };
        sum = next;
    }
    sum + error
}

/// Checks a maximum over tiles whose largest elements lie in different warps.
fn peaks(case: &Case) -> Result<(), Box<Failure>> {
    let Shape::Tiles { each } = case.task.shape else { return Ok(()) };
    if case.task.operation == Operation::Sum {
        return Ok(());
    }
    for threads in case.task.blocks {
        let tile = each * u64::from(*threads);
        let n = 32 * tile;
        for grid in case.task.shape.grids(n, *threads) {
            let scene = Scene { watched: false, ..case.scene(Element::F32, n, *threads, grid) };
            let values = Values::draw(Element::F32, n, case.seed, Draw::Peaks(tile));
            let seen = scene.run(std::slice::from_ref(&values))?;
            if let Some(failure) = wrong(&scene, &seen.left[0], &values) {
                return Err(Box::new(failure));
            }
        }
    }
    Ok(())
}

/// Checks that all grids give the same bits in any order and on any GPU, for numbers whose sums are
/// rounded. With a mailbox, the bits may differ from grid to grid.
fn same_bits(case: &Case) -> Result<(), Box<Failure>> {
    let threads = case.task.blocks[0];
    let sizes = [(Element::F32, (1 << 15) + 3), (Element::F64, 4099), (Element::F32, 300)];
    let long = (Element::F32, 100_003 + case.seed % 5000);
    // This size depends on the seed, so a kernel cannot fix its order for known sizes alone.
    let power = 1 << (18 + case.seed % 4);
    let longer = (Element::F32, power + mixed(case.seed) % power);
    let wide = (Element::F32, 9000 + case.seed % 1000);
    let sizes = sizes.into_iter().chain([long, longer, wide]);
    for (at, (element, n)) in sizes.enumerate() {
        if !case.has(element) {
            continue;
        }
        let values = match at {
            5 => cancelling(element, n, case.seed),
            _ => Values::rounded(element, n, case.seed).bytes(),
        };
        let mut first: Option<(String, Vec<u8>, f64)> = None;
        let mut runs: Vec<(u32, Schedule, Option<Arch>)> = Vec::new();
        let grids = case.task.shape.grids(n, threads);
        let order = |grid: u32| Schedule::Adversarial(case.seed.wrapping_add(u64::from(grid)) >> 1);
        for grid in grids.iter().copied().chain([7]).filter(|_| at != 4) {
            runs.extend([(grid, Schedule::Converged, None), (grid, order(grid), None)]);
        }
        // The first size is also run in more orders, on other GPUs, and on more grids, and the last
        // two sizes are also run on large grids.
        let mailbox = matches!(case.task.shape, Shape::Mailbox { .. });
        match at {
            0 => {
                let most = case.task.shape.most().filter(|_| !mailbox);
                runs.extend(most.iter().flat_map(|most| {
                    let random = |of: u32| (mixed(case.seed ^ u64::from(of)) >> 8) as u32;
                    [64, 256, *most].map(|end| {
                        let grid = end / 4 + random(end) % (end / 4 * 3);
                        (grid, Schedule::Converged, None)
                    })
                }));
                runs.extend((8..12).map(|seed| (5, order(seed), None)));
                runs.extend(Arch::ALL.iter().map(|arch| (5, Schedule::MinPc, Some(*arch))));
            }
            2 => runs.extend(case.task.shape.most().map(|grid| (grid, Schedule::Converged, None))),
            3 => {
                runs.push((64, order(64), None));
                let most = case.task.shape.most().filter(|_| !mailbox);
                let known = most.into_iter().flat_map(|most| [3, 4, 100, 257, 300, most]);
                runs.extend(known.map(|grid| (grid, Schedule::Converged, None)));
            }
            4 => runs.extend([5, 64].map(|grid| (grid, Schedule::Converged, None))),
            _ => {}
        }
        if mailbox {
            // A sum that is added in order of arrival can have the same bits in many orders of
            // execution.
            runs.extend((20..40).filter(|_| at < 2).map(|seed| (7, order(seed), None)));
            runs.extend((40..48).filter(|_| at == 0).map(|seed| (250, order(seed), None)));
            runs.sort_by_key(|(grid, ..)| *grid);
        }
        let mut compared = None;
        for (grid, schedule, gpu) in runs {
            if mailbox && compared.replace(grid) != Some(grid) {
                first = None;
            }
            let scene = case.scene(element, n, threads, grid);
            let scene = Scene { schedule, watched: false, gpu, ..scene };
            let mut left = scene.run_bytes(&values)?.left.remove(0);
            let (bits, sum) = (left.bits.remove(0), left.results[0][0]);
            let order = match schedule {
                Schedule::Converged => String::new(),
                other => format!(" under the order {other}"),
            };
            let on = gpu.map_or(String::new(), |arch| format!(" of a {}", arch.gpu));
            let here = format!("on a grid of {}{on}{order}", blocks(grid));
            match &first {
                Some((there, before, was)) if *before != bits => {
                    let said = format!(
                        "n = {} {element}: the sum of the same elements is {} {there} and {} {here}, in blocks of {threads} threads",
                        numbers::size(n),
                        shown(element, *was),
                        shown(element, sum),
                    );
                    let failure = Failure::new(Stage::Right, said);
                    return Err(Box::new(Failure { idea: Some(case.task.idea.1), ..failure }));
                }
                Some(_) => {}
                None => first = Some((here, bits, sum)),
            }
        }
    }
    Ok(())
}
