//! Checks the results of a kernel for unusual elements: very large and very small ones, NaN and
//! infinities, and values that a kernel might use as marks.

use numbers::{Element, mixed};

use crate::case::Case;
use crate::held::{held_by, totals, wrong};
use crate::scene::{Scene, elements};
use crate::task::{Operation, Shape};
use crate::values::{Draw, Values, bytes, magnitude, shown, subnormal};
use crate::verdict::{Failure, Stage};

/// Checks all kinds of unusual elements.
pub(crate) fn unusual(case: &Case) -> Result<(), Box<Failure>> {
    peaks(case)?;
    marks(case)?;
    magnitudes(case)?;
    subnormals(case)?;
    specials(case)?;
    walking(case)?;
    opposite(case)?;
    zeros(case)
}

/// Checks sums of numbers of very different magnitudes. No such sum is exact, but the result of
/// every tree is within the bound on its rounding errors. A sum in fixed point or in a shorter type
/// is not within this bound. Every maximum is exact.
fn magnitudes(case: &Case) -> Result<(), Box<Failure>> {
    let threads = case.task.blocks[0];
    let floats = case.modules.iter().filter(|(element, _)| *element != Element::I32);
    for (element, n) in floats.flat_map(|(element, _)| [1, 33, 1025].map(|n| (*element, n))) {
        let grid = case.task.shape.grids(n, threads)[0];
        let scene = Scene { watched: false, ..case.scene(element, n, threads, grid) };
        let (numbers, bytes) = magnitude(element, n, case.seed);
        let seen = scene.run_bytes(&bytes)?;
        if case.task.operation != Operation::Sum {
            maxima(&scene, seen.left[0].results.last().expect("the maxima"), &numbers)?;
        }
        if case.task.operation == Operation::Max {
            continue;
        }
        let results = &seen.left[0].results[0];
        for (at, given) in totals(&scene, results).iter().enumerate() {
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

/// Checks sums of numbers that a kernel might use as marks, such as the smallest `int`.
fn marks(case: &Case) -> Result<(), Box<Failure>> {
    if case.task.operation == Operation::Max {
        return Ok(());
    }
    let (threads, n) = (case.task.blocks[0], 700 + case.seed % 100);
    for (element, _) in &case.modules {
        let grid = case.task.shape.grids(n, threads)[0];
        let scene = Scene { watched: false, ..case.scene(*element, n, threads, grid) };
        let values = Values::draw(*element, n, case.seed, Draw::Marks);
        let left = scene.run_bytes(&values.bytes())?.left.remove(0);
        if let Some(failure) = wrong(&scene, &left, &values) {
            return Err(Box::new(failure));
        }
        late(&Scene { n: 20_000, ..scene })?;
    }
    Ok(())
}

/// Checks sums of zeros that end with ten ones.
fn late(scene: &Scene<'_>) -> Result<(), Box<Failure>> {
    if matches!(scene.task.shape, Shape::Tiles { .. }) {
        return Ok(());
    }
    let one = match scene.element {
        Element::I32 => 1i32.to_le_bytes().to_vec(),
        Element::F32 => 1f32.to_le_bytes().to_vec(),
        Element::F64 => 1f64.to_le_bytes().to_vec(),
    };
    let ones = one.repeat(10);
    let mut bytes = vec![0; scene.element.size() as usize * scene.n as usize];
    let end = bytes.len() - ones.len();
    bytes[end..].copy_from_slice(&ones);
    let given: f64 = scene.run_bytes(&bytes)?.left[0].results[0].iter().sum();
    if given == 10.0 {
        return Ok(());
    }
    let said = format!(
        "{}: the elements are zeros but for the last ten, which are ones, and the sum is {given} instead of 10",
        scene.what()
    );
    Err(Box::new(Failure::new(Stage::Right, said)))
}

/// Compares maxima with the exact ones.
fn maxima(scene: &Scene<'_>, given: &[f64], numbers: &[f64]) -> Result<(), Box<Failure>> {
    for (at, given) in given.iter().enumerate() {
        let range = held_by(scene, at);
        let expected = numbers[range.clone()].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if *given != expected {
            let said = format!(
                "{}: for numbers of very different magnitudes, the maximum of {} is {} instead of {}: compare elements, and compute no others",
                scene.what(),
                elements(&range),
                shown(scene.element, *given),
                shown(scene.element, expected)
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
        for (at, given) in totals(&scene, &results).into_iter().enumerate() {
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
        let scene = case.scene(element, n, threads, grid);
        let values = others.map(|draw| Values::draw(element, n, case.seed, draw));
        let size = element.size() as usize;
        let mut bytes = values.as_ref().map_or_else(|| vec![0; size * n as usize], Values::bytes);
        let place = &mut bytes[size * at..size * (at + 1)];
        match element {
            Element::F32 => place.copy_from_slice(&(special as f32).to_le_bytes()),
            _ => place.copy_from_slice(&special.to_le_bytes()),
        }
        let mut seen = scene.run_bytes(&bytes)?;
        let place = format!("{}, where `in[{at}]` is {}", scene.what(), shown(element, special));
        if let Some(finding) = seen.findings.iter().find(|finding| !finding.is_harmless()) {
            let said = format!("{place}: {}", finding.sentence());
            let lines = finding.sites.iter().map(|site| site.line);
            return Err(Box::new(Failure::new(Stage::Clean, said).at(lines)));
        }
        let left = &mut seen.left[0];
        if left.tickets != 0 || left.flag.is_some() {
            let said = format!(
                "{place}: the kernel does not set its tickets or flags back to 0 for the next launch"
            );
            return Err(Box::new(Failure::new(Stage::Right, said)));
        }
        let results = left.results.remove(0);
        for (index, given) in totals(&scene, &results).into_iter().enumerate() {
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
                    "{place}: the sum of {} is {} instead of {}: {advice}",
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

/// The number of positions of an infinity.
const PLACES: u64 = 64;

/// Checks results of zeros and one infinity, whose position goes through a tile, or through the
/// whole input if there are no tiles.
fn walking(case: &Case) -> Result<(), Box<Failure>> {
    let start = mixed(case.seed);
    let Shape::Tiles { each } = case.task.shape else {
        let threads = case.task.blocks[0];
        // In the short inputs, the infinity is close to the end.
        let sizes = [(5200 + case.seed % 1000, PLACES / 2), (4, 4), (1029, 8), (13, 13)];
        return sizes.into_iter().try_for_each(|(n, places)| {
            let grid = *case.task.shape.grids(n, threads).last().expect("a grid");
            let scene = case.scene(Element::F32, n, threads, grid);
            (0..places).try_for_each(|k| {
                let at = if n > 2000 { (start + k * n / places) % n } else { n - 1 - k } as usize;
                let mut numbers = vec![0.0; n as usize];
                numbers[at] = f64::INFINITY;
                walked(&Scene { watched: false, ..scene }, &numbers, |_| at)
            })
        });
    };
    for threads in case.task.blocks {
        let tile = each * u64::from(*threads);
        let tiles = PLACES.min(tile);
        let scene = case.scene(Element::F32, tiles * tile, *threads, tiles as u32);
        let step = tile / tiles;
        let place = |k: u64| (k * tile + (start + k * step + start % step) % tile) as usize;
        let mut numbers = vec![0.0; scene.n as usize];
        for k in 0..tiles {
            numbers[place(k)] = f64::INFINITY;
        }
        walked(&Scene { watched: false, ..scene }, &numbers, |k| place(k as u64))?;
    }
    Ok(())
}

/// Checks that all results for these numbers are infinite; `place` is the index of each infinity.
fn walked(
    scene: &Scene<'_>,
    numbers: &[f64],
    place: impl Fn(usize) -> usize,
) -> Result<(), Box<Failure>> {
    let left = scene.run_bytes(&bytes(scene.element, numbers))?.left.remove(0);
    for results in left.results {
        let results = totals(scene, &results);
        if let Some(at) = results.iter().position(|given| *given != f64::INFINITY) {
            let said = format!(
                "{}, where the elements are zeros but for `in[{}]`, which is infinite: the result for {} is {}: use each element once, and multiply or subtract none",
                scene.what(),
                place(at),
                elements(&held_by(scene, at)),
                shown(scene.element, results[at])
            );
            return Err(Box::new(Failure::new(Stage::Right, said)));
        }
    }
    Ok(())
}

/// Checks a sum that contains infinities of both signs, which is NaN. One thread may have both.
fn opposite(case: &Case) -> Result<(), Box<Failure>> {
    if !matches!(case.task.shape, Shape::Shares { .. } | Shape::Single { .. } | Shape::Alone) {
        return Ok(());
    }
    let n = 8200 + case.seed % 50;
    let scene = case.scene(Element::F32, n, case.task.blocks[0], 1);
    let scene = Scene { watched: false, ..scene };
    let mut bytes = Values::draw(Element::F32, n, case.seed, Draw::Signed).bytes();
    let first = (case.seed % 1000) as usize;
    for (at, infinity) in [(first, f32::INFINITY), (first + 4096, f32::NEG_INFINITY)] {
        bytes[4 * at..4 * at + 4].copy_from_slice(&infinity.to_le_bytes());
    }
    let given = scene.run_bytes(&bytes)?.left.remove(0).results.remove(0)[0];
    if given.is_nan() {
        return Ok(());
    }
    let said = format!(
        "{}, where `in[{first}]` is infinite and `in[{}]` is minus infinity: the sum is {} instead of NaN: add every element",
        scene.what(),
        first + 4096,
        shown(Element::F32, given)
    );
    Err(Box::new(Failure::new(Stage::Right, said)))
}

/// Checks maxima of inputs that consist of negative numbers and a single zero or small number, and of inputs whose
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
        lows(&Scene { n: 1, grid: 1, ..scene })?;
        let place = &mut bytes[(size * at) as usize..(size * (at + 1)) as usize];
        place.fill(0);
        largest(&scene, &bytes, at, 0.0)?;
        // A difference of a large number and a small one is rounded.
        let small = 1.0 / f64::from(1 << 30);
        let place = &mut bytes[(size * at) as usize..(size * (at + 1)) as usize];
        match element {
            Element::I32 => continue,
            Element::F32 => place.copy_from_slice(&(small as f32).to_le_bytes()),
            Element::F64 => place.copy_from_slice(&small.to_le_bytes()),
        }
        largest(&scene, &bytes, at, small)?;
    }
    Ok(())
}

/// Checks the maximum of a tile in which all other elements are negative.
fn largest(scene: &Scene<'_>, bytes: &[u8], at: u64, largest: f64) -> Result<(), Box<Failure>> {
    let maxima = scene.run_bytes(bytes)?.left.remove(0).results.pop().expect("the maxima");
    for (index, given) in maxima.into_iter().enumerate() {
        let range = held_by(scene, index);
        if range.contains(&(at as usize)) && given != largest {
            let said = format!(
                "{}, where all elements are negative but `in[{at}]`, which is {}: the maximum of {} is {}",
                scene.what(),
                shown(scene.element, largest),
                elements(&range),
                shown(scene.element, given)
            );
            return Err(Box::new(Failure::new(Stage::Right, said)));
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
    let left = scene.run_bytes(&bytes.repeat(scene.n as usize))?.left.remove(0);
    let maxima = left.results.last().expect("the maxima");
    let failure = |said: String| {
        let all =
            format!("{}, where all elements are {}", scene.what(), shown(scene.element, lowest));
        Err(Box::new(Failure::new(Stage::Right, format!("{all}: {said}"))))
    };
    if let Some(given) = maxima.iter().find(|given| **given != lowest) {
        return failure(format!(
            "a maximum is {}: the neutral element of the maximum is the lowest value of the type",
            shown(scene.element, *given)
        ));
    }
    if scene.task.operation == Operation::Max {
        return Ok(());
    }
    for (at, given) in left.results[0].iter().enumerate() {
        // The sum of an even number of the lowest `int` wraps to 0.
        let wraps = scene.element == Element::I32 && held_by(scene, at).len().is_multiple_of(2);
        let sum = if wraps { 0.0 } else { lowest };
        if *given != sum {
            return failure(format!(
                "a sum is {} instead of {}: the lowest value is an element like any other",
                shown(scene.element, *given),
                shown(scene.element, sum)
            ));
        }
    }
    Ok(())
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
