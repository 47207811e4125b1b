//! A size beyond 32 bits: an index that is too narrow goes round there, and nowhere before.

use numbers::{Element, mixed};
use simt::{Arg, Gpu, Launch};

use crate::case::Case;
use crate::scene::elements;
use crate::task::{Operation, Shape};
use crate::values::{read, shown};
use crate::verdict::{Failure, Stage};

/// Elements.
const N: u64 = (1 << 32) + 13;
/// The last blocks are run: what all would have taken is not waited for.
const WINDOW: u64 = 2;

/// The elements of a page are one small whole number.
fn of_page(page: u64) -> f32 {
    (mixed(page) % 1000 + 1) as f32
}

/// Runs the last blocks of a grid that is longer than 32 bits can count; whether that can be done here.
pub(crate) fn long(case: &Case) -> Result<bool, Box<Failure>> {
    let (Shape::Tiles { each }, false) = (case.task.shape, usize::BITS < 64) else {
        return Ok(false); // In a web page there is no room for the list of pages.
    };
    let threads = case.task.blocks[0];
    let tile = each * u64::from(threads);
    let grid = N.div_ceil(tile);
    let scene = case.scene(Element::F32, N, threads, grid as u32);
    let refused = |error| Box::new(scene.refused(&error));
    let mut gpu = scene.gpu();
    gpu.config_mut().blocks = Some(grid - WINDOW..grid);
    let input = gpu.alloc_sparse(4 * N, |page| of_page(page).to_bits()).map_err(refused)?;
    let mut outputs = Vec::new();
    for _ in 0..case.task.operation.outputs() {
        outputs.push(gpu.alloc_sparse(4 * grid, |_| f32::NAN.to_bits()).map_err(refused)?);
    }
    let entry = scene.entry()?;
    let args: Vec<u64> = [&[input][..], &outputs, &[N]].concat();
    let launch = Launch {
        entry: &entry,
        grid: [grid as u32, 1, 1],
        block: [threads, 1, 1],
        cluster: [1, 1, 1],
        shared: case.task.shared(threads, Element::F32),
        args: args.into_iter().map(Arg::U64).collect(),
    };
    gpu.launch(scene.module, &launch, &mut ()).map_err(refused)?;
    for block in grid - WINDOW..grid {
        let range = block * tile..((block + 1) * tile).min(N);
        let pages = range.clone().map(|at| of_page(4 * at / Gpu::PAGE));
        let (sum, max) = pages.fold((0.0, f32::NEG_INFINITY), |(s, m), v| (s + v, f32::max(m, v)));
        for (which, output) in outputs.iter().enumerate() {
            let mut bytes = [0; 4];
            gpu.read(output + 4 * block, &mut bytes).map_err(refused)?;
            let given = read(Element::F32, &bytes)[0];
            let is_max = case.task.operation == Operation::Max || which == 1;
            let expected = f64::from(if is_max { max } else { sum });
            if given != expected {
                let range = range.start as usize..range.end as usize;
                let said = format!(
                    "{}: block {block}, which has {}, gave {} instead of {}: an index of 32 bits goes round at 2^32; make it `unsigned long long`, and cast `blockIdx.x` to that before it is multiplied",
                    scene.what(),
                    elements(&range),
                    shown(Element::F32, given),
                    shown(Element::F32, expected)
                );
                return Err(Box::new(Failure::new(Stage::Right, said)));
            }
        }
    }
    Ok(true)
}
