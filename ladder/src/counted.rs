//! Two kernels beside each other in the interpreter: for those without a GPU.

use std::io::Write;

use common::{
    Element, Result, Step,
    cli::Stop,
    device::Device,
    ptx,
    run::{self, Outcome, Samples},
    sum::{Scalar, Workload},
};
use numbers::{group, size};
use simt::Counts;

use crate::{
    cell::{INPUT, SEED},
    options::How,
};

/// What is shown, and from which counts.
type Row = (&'static str, fn(&Counts) -> u64);
const ROWS: [Row; 8] = [
    ("instructions of warps", |c| c.warp_insts),
    ("divergent branches", |c| c.divergent_branches),
    ("shared loads and stores", |c| c.shared_ld + c.shared_st),
    ("bank conflicts", |c| c.shared_ld_conflicts + c.shared_st_conflicts),
    ("barriers", |c| c.barriers),
    ("shuffles", |c| c.shuffles),
    ("global requests", |c| c.global_ld_requests + c.global_st_requests),
    ("global sectors", |c| c.global_ld_sectors + c.global_st_sectors),
];

/// Counts pairs of steps beside each other, each verified.
pub(crate) fn pairs(
    device: &Device,
    pairs: &[(&'static Step, &'static Step)],
    sizes: &[u64],
    how: &How,
) -> Result<(), Stop> {
    let mut out = anstream::stdout();
    writeln!(out, "{}", device.facts().line)?;
    for &(first, second) in pairs {
        for &element in &how.element {
            for &n in sizes {
                let both = match element {
                    Element::F32 => both::<f32>(device, [first, second], n, how),
                    Element::I32 => both::<i32>(device, [first, second], n, how),
                    Element::F64 => both::<f64>(device, [first, second], n, how),
                }?;
                write!(out, "\n{}", beside(&both))?;
                out.flush()?;
                if let Some(fault) = both.iter().find_map(Outcome::fault) {
                    return Err(fault.into());
                }
            }
        }
    }
    Ok(())
}

fn both<T: Scalar>(
    device: &Device,
    steps: [&'static Step; 2],
    n: u64,
    how: &How,
) -> Result<[Outcome; 2]> {
    let workload = Workload::<T>::new(device, INPUT, n, SEED)?;
    let run = |step: &'static Step| {
        let text = ptx::of(&step.kernel, T::ELEMENT, None)?;
        let samples = Samples { count: 0, warm: true };
        run::run(step, &text, device, &workload, step.block(Some(how.threads)), samples)
    };
    Ok([run(steps[0])?, run(steps[1])?])
}

/// Both, in one table: what neither does is left out.
fn beside(both: &[Outcome; 2]) -> String {
    let [one, other] = both;
    let counts = both.each_ref().map(|outcome| {
        outcome.observed.as_ref().map(|observed| observed.counters.total).unwrap_or_default()
    });
    let wide = both.iter().map(|outcome| outcome.step.chars().count()).max().unwrap_or(0).max(14);
    let row = |name: &str, one: &str, other: &str, ratio: &str| {
        format!("  {name:<24} {one:>wide$} {other:>wide$} {ratio:>8}").trim_end().to_owned() + "\n"
    };
    let mut text = format!("{} {}\n", size(one.n), one.element);
    text += &row("", one.step, other.step, "ratio");
    text += &row("threads of a block", &one.threads.to_string(), &other.threads.to_string(), "");
    for (name, of) in ROWS {
        let [a, b] = counts.each_ref().map(of);
        if a > 0 || b > 0 {
            text += &row(name, &group(a), &group(b), &ratio(a, b));
        }
    }
    let verdict = |outcome: &Outcome| match outcome.fault() {
        None => "verified",
        Some(_) if outcome.wrong.is_none() => "FOUND",
        Some(_) => "WRONG",
    };
    text + &row("the sum", verdict(one), verdict(other), "")
}

/// How many times as much the second does.
fn ratio(one: u64, other: u64) -> String {
    match one {
        0 => "-".into(),
        _ => format!("{:.2}x", other as f64 / one as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_that_of_the_second_to_the_first() {
        assert_eq!([ratio(4, 2), ratio(3, 3), ratio(2, 5)], ["0.50x", "1.00x", "2.50x"]);
        assert_eq!([ratio(0, 0), ratio(0, 7)], ["-", "-"]);
    }
}
