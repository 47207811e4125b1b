//! Times the sums of files, and compares the CPU with the GPU: `matrix-sum measure`, which writes a
//! folder that the book reads.

use std::{
    fs::{self, File},
    hint::black_box,
    io::{self, BufWriter, Write},
    path::Path,
    time::Instant,
};

use common::{
    Element, Error, Result,
    device::{
        Cuda, Device,
        feed::{Feed, Span},
    },
    plan::Order,
    ptx,
    run::{Checked, Job},
    sum::{Input, Workload},
};

use crate::{
    plan, sums,
    threshold::{self, Cut},
    volume::{self, Streamed},
};

/// The kinds of passes over a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Copies two pinned pieces alternately; the number of copies is the number of pieces in the
    /// file.
    Copy,
    /// Copies the pieces in the same way, and also adds them.
    Both,
    /// Reads each piece from the file, copies it and adds it.
    File,
}

const PASSES: [(&str, Pass); 3] =
    [("copy", Pass::Copy), ("both", Pass::Both), ("file", Pass::File)];

/// Measures each file, and the number of matrices above which the device is faster than the CPU.
/// Writes the samples to a folder.
pub fn run(device: &Device, files: &[&Path], bytes: u64, rounds: u32, out: &Path) -> Result<()> {
    let cuda = device.gpu()?;
    let failed = |source| Error::File { doing: format!("writing to {}", out.display()), source };
    fs::create_dir_all(out).map_err(failed)?;
    let create = |name: &str| File::create(out.join(name)).map(BufWriter::new).map_err(failed);
    let about = format!("gpu = {:?}\nvolume = {bytes}\n", device.facts().line);
    fs::write(out.join("matrices.toml"), about).map_err(failed)?;
    let mut samples = create("volume.csv")?;
    writeln!(samples, "order,matrices,pass,round,piece,copied,copied_end,added,added_end")
        .map_err(failed)?;
    for path in files {
        let passes = passes(device, cuda, path, bytes, rounds)?;
        passes.into_iter().try_for_each(|line| writeln!(samples, "{line}")).map_err(failed)?;
    }
    samples.flush().map_err(failed)?;
    let mut samples = create("threshold.csv")?;
    writeln!(samples, "matrices,way,from,left,round,ns").map_err(failed)?;
    takeover(device, rounds, &mut |line| writeln!(samples, "{line}"))
        .and_then(|()| samples.flush().map_err(failed))
}

/// Measures the passes over a file; every other round runs them in reverse order.
fn passes(
    device: &Device,
    cuda: &Cuda,
    path: &Path,
    bytes: u64,
    rounds: u32,
) -> Result<Vec<String>> {
    // Verify every piece first.
    let first = volume::add(device, path, "one-pass", bytes)?;
    let mut streamed = Streamed::new(device, path, "one-pass", bytes)?;
    let mut feed = Feed::new(cuda, streamed.bytes(0))?;
    let right = pass(&mut streamed, &mut feed, Pass::File).and_then(|_| streamed.sums())?;
    let total = |entry: usize| right.iter().map(|sums| f64::from(sums[entry])).sum::<f64>();
    if (0..4).any(|entry| total(entry).to_bits() != first.sums[entry].to_bits()) {
        return Err(Error::Wrong(format!(
            "{}: the sums changed when the file was added again",
            path.display()
        )));
    }
    let order = match streamed.opened.order {
        Order::Row => "row",
        Order::Column => "column",
    };
    let mut lines = Vec::new();
    for round in 0..rounds {
        let mut turns = PASSES;
        if round % 2 == 1 {
            turns.reverse();
        }
        for (name, which) in turns {
            let spans = pass(&mut streamed, &mut feed, which)?;
            hold(&streamed, which, &right)?;
            for (piece, Span { copied, added }) in spans.into_iter().enumerate() {
                lines.push(format!(
                    "{order},{},{name},{round},{piece},{:.3},{:.3},{:.3},{:.3}",
                    first.matrices, copied[0], copied[1], added[0], added[1]
                ));
            }
        }
    }
    Ok(lines)
}

fn pass(streamed: &mut Streamed<'_>, feed: &mut Feed<'_>, which: Pass) -> Result<Vec<Span>> {
    if which == Pass::Both {
        // Before the measurement starts, the two buffers are filled with pieces whose sums are
        // known.
        feed.start()?;
        for piece in 0..streamed.pieces().min(2) {
            let (range, bytes) = (streamed.range(piece), streamed.bytes(piece));
            streamed.opened.piece(range, &mut feed.piece()?[..bytes as usize])?;
            feed.send(bytes, |_| Ok(()))?;
        }
    }
    feed.start()?;
    for piece in 0..streamed.pieces() {
        let (range, bytes) = (streamed.range(piece), streamed.bytes(piece));
        if which == Pass::File {
            streamed.opened.piece(range, &mut feed.piece()?[..bytes as usize])?;
        }
        feed.send(bytes, |address| match which {
            Pass::Copy => Ok(()),
            _ => streamed.add(piece, address),
        })?;
    }
    feed.spans()
}

/// Checks that the sums of each piece still have the same bits.
fn hold(streamed: &Streamed<'_>, which: Pass, right: &[[f32; 4]]) -> Result<()> {
    if which == Pass::Copy {
        return Ok(());
    }
    for (piece, sums) in streamed.sums()?.into_iter().enumerate() {
        let of = if which == Pass::Both { piece % 2 } else { piece };
        let whole = streamed.bytes(piece as u64) == streamed.bytes(of as u64);
        if whole && sums.map(f32::to_bits) != right[of].map(f32::to_bits) {
            return Err(Error::Wrong(format!(
                "the sums of piece {piece} changed when the piece was added again"
            )));
        }
    }
    Ok(())
}

/// The base-2 logarithms of the numbers of matrices to measure.
const COUNTS: [u32; 11] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20];

/// The numbers of matrices that may be left to the CPU.
const LEFT: [u64; 4] = [0, 64, 4096, u64::MAX];

/// Measures the wall time until the four sums are on the host, for each division of the work
/// between GPU and CPU, with the matrices in device or host memory.
fn takeover(
    device: &Device,
    rounds: u32,
    write: &mut dyn FnMut(String) -> io::Result<()>,
) -> Result<()> {
    let failed = |source| Error::File { doing: "writing times".into(), source };
    for power in COUNTS {
        let matrices = 1u64 << power;
        let n = plan::ENTRIES * matrices;
        let workload = Workload::<f32>::new(device, Input::Uniform, n, 42)?;
        let bytes = 4 * n;
        let memory = device.alloc("matrices from the host", bytes)?;
        let image: Vec<u8> = workload.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        for name in ["first", "one-pass"] {
            let way = sums::way(name, Order::Row)?;
            let problem = device.problem(n, way.block(None), Element::F32);
            let job = Job::load(device, way, &ptx::of(&way.kernel, Element::F32, None)?, problem)?;
            job.verify(&workload).and_then(Checked::into_verified)?;
            let exact = sums::references(workload.elements(), Order::Row).map(|sum| sum.float());
            let mut cuts: Vec<Cut> = LEFT.map(|most| Cut::of(job.plan(), matrices, most)).into();
            cuts.dedup();
            for round in 0..4 * rounds {
                if round % 2 == 1 {
                    cuts.reverse();
                }
                for cut in &cuts {
                    for from in ["device", "host"] {
                        if cut.launches == 0 && from == "device" {
                            continue;
                        }
                        let once = || {
                            let started = Instant::now();
                            let at = if from == "device" {
                                workload.warm()
                            } else {
                                if cut.launches > 0 {
                                    device.write(&memory, 0, &image)?;
                                }
                                memory.address()
                            };
                            let sums = cut.sums(&job, &workload.values, Order::Row, at)?;
                            Ok::<_, Error>((black_box(sums), started.elapsed().as_nanos()))
                        };
                        once()?;
                        let (sums, ns) = once()?;
                        let off = |entry: usize| (f64::from(sums[entry]) - exact[entry]).abs();
                        let near = 1e-6
                            * matrices as f64
                            * f64::from(threshold::depth(cut.matrices).min(64));
                        if (0..4).any(|entry| off(entry).is_nan() || off(entry) > near) {
                            return Err(Error::Wrong(format!(
                                "{name}: the sums are {sums:?}, but the exact sums are {exact:?}"
                            )));
                        }
                        write(format!("{matrices},{name},{from},{},{round},{ns}", cut.matrices))
                            .map_err(failed)?;
                    }
                }
            }
        }
    }
    Ok(())
}
