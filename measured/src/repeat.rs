//! The same program on two GPUs of one kind: which ratios are the kind's, and which one GPU's.

use std::fmt::Write as _;

use crate::{
    Cache, Clock, Place, Role, Run, Variant,
    page::PEER,
    pair::{MATTERS, Ratio},
    stats::Summary,
    table::{Table, micros, size},
};

/// The page's file, beside the runs.
pub const FILE: &str = "repeated.md";

/// Who is shown beside CUB where the page asks whose time moved: `reduce`, and what reads alone.
const READER: &str = "read-only";

/// How a time went from one GPU to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Move {
    /// The second time over the first, less one.
    by: f64,
    /// Whether both intervals have nothing in common, and it is worth a word.
    sure: bool,
}

impl Move {
    fn of(first: &Summary, second: &Summary) -> Move {
        let by = second.median / first.median - 1.0;
        let apart = first.high < second.low || second.high < first.low;
        Move { by, sure: apart && by.abs() >= MATTERS }
    }

    fn between(first: &Run, second: &Run, variant: &str, at: &Place<'_>) -> Option<Move> {
        Some(Move::of(&first.time(variant, at)?, &second.time(variant, at)?))
    }

    fn text(self) -> String {
        let mark = if self.sure { "" } else { " ·" };
        format!("{:+.1} %{mark}", 100.0 * self.by)
    }
}

/// Whose time moved, of the two in a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    First,
    Second,
    /// Both, the first by more.
    FirstMore,
    /// Both, the second by more.
    SecondMore,
    Neither,
}

impl Who {
    fn of(first: Move, second: Move) -> Who {
        match (first.sure, second.sure) {
            (true, false) => Who::First,
            (false, true) => Who::Second,
            (true, true) if first.by.abs() >= second.by.abs() => Who::FirstMore,
            (true, true) => Who::SecondMore,
            (false, false) => Who::Neither,
        }
    }

    fn text(self, first: &str, second: &str) -> String {
        match self {
            Who::First => first.to_owned(),
            Who::Second => second.to_owned(),
            Who::FirstMore => format!("both, {first} more"),
            Who::SecondMore => format!("both, {second} more"),
            Who::Neither => "neither for sure".to_owned(),
        }
    }
}

/// The last two runs of one program on GPUs of one kind, the older first.
pub fn pair(runs: &[Run]) -> Option<(&Run, &Run)> {
    let (newest, before) = runs.split_last()?;
    let same = |run: &&Run| {
        run.env.gpu.name == newest.env.gpu.name && run.env.run.commit == newest.env.run.commit
    };
    match before.iter().rev().find(same) {
        Some(again) => Some((again, newest)),
        None => pair(before),
    }
}

/// The page of two runs.
pub fn of(first: &Run, second: &Run) -> String {
    let mut page = format!(
        "# {}, twice\n\nMade by `cargo x results` from [{1}]({1}) and [{2}]({2}): the same program on two GPUs of this kind, where both measured; never edited by hand.\n\
         A cell has the ratio of the first run, then that of the second. \
         † Their intervals do not meet: the ratio is that of one GPU, and not portable.\n\n",
        first.env.gpu.name, first.name, second.name
    );
    for element in first.elements() {
        page += &summary(first, second, &element);
        page += &moved(first, second, &element);
        let title = |text: &str| format!("## {element}, L2 cold: {text}\n\n");
        let against = |variant: &Variant| {
            (variant.role.sums() && variant.name != PEER).then(|| PEER.to_owned())
        };
        page += &title("how many times faster than CUB");
        let _ = writeln!(page, "{}", ratios(first, second, &element, against));
        let steps = first.steps();
        let before = |variant: &Variant| {
            let at = steps.iter().position(|step| step.name == variant.name)?;
            Some(steps.get(at.checked_sub(1)?)?.name.clone())
        };
        page += &title("how many times faster than the step before");
        let _ = writeln!(page, "{}", ratios(first, second, &element, before));
        page += &title("the second GPU's time over the first's, less one");
        page += "· The intervals meet, or the times are within half a percent.\n\n";
        let _ = writeln!(page, "{}", moves(first, second, &element));
    }
    page
}

fn place(element: &str, n: u64) -> Place<'_> {
    Place { element, n, cache: Cache::Cold, clock: Clock::Gpu }
}

/// The sizes that both have.
fn sizes(first: &Run, second: &Run, element: &str) -> Vec<u64> {
    let there = second.sizes(element, Cache::Cold, Clock::Gpu);
    let sizes = first.sizes(element, Cache::Cold, Clock::Gpu);
    sizes.into_iter().filter(|n| there.contains(n)).collect()
}

/// Both runs' ratios to CUB that contradict each other, by whose time moved.
fn summary(first: &Run, second: &Run, element: &str) -> String {
    let (mut all, mut contradicted) = (0, 0);
    let mut by = [0; 5];
    for n in sizes(first, second, element) {
        let at = place(element, n);
        for variant in first.env.variant.iter().filter(|v| v.role.sums() && v.name != PEER) {
            let Some((a, b)) = both(first, second, PEER, &variant.name, &at) else { continue };
            all += 1;
            if !a.contradicts(&b) {
                continue;
            }
            contradicted += 1;
            let whose = |name| Move::between(first, second, name, &at);
            if let (Some(peer), Some(own)) = (whose(PEER), whose(&variant.name)) {
                by[Who::of(peer, own) as usize] += 1;
            }
        }
    }
    format!(
        "## {element}, L2 cold: what moved\n\nOf {all} ratios to CUB, {contradicted} differ by more than their intervals: \
         in {} only CUB's time moved from one GPU to the other, in {} only the other's, in {} both did and CUB's more, in {} both and the other's more, in {} neither for sure.\n\
         Times of two GPUs are not paired, ratios are: a time has moved if both intervals have nothing in common and it changed by half a percent at least.\n\
         Where `{READER}` moved with CUB, it is the GPU's memory that differs, and who waits for memory moves with it; where it did not, it is CUB.\n\n",
        by[0], by[1], by[2], by[3], by[4]
    )
}

fn both(
    first: &Run,
    second: &Run,
    slow: &str,
    fast: &str,
    at: &Place<'_>,
) -> Option<(Ratio, Ratio)> {
    Some((first.ratio(slow, fast, at)?, second.ratio(slow, fast, at)?))
}

/// A row a size: CUB, ours and a read alone, and whose time moved.
fn moved(first: &Run, second: &Run, element: &str) -> String {
    let steps = first.steps();
    let ours = first.env.of(Role::Reduce).next().or(steps.last().copied());
    let Some(ours) = ours.map(|ours| ours.name.clone()) else { return String::new() };
    let time = format!("{PEER} µs");
    let mut table = Table::new([
        "size".to_owned(),
        time,
        format!("{ours} µs"),
        format!("{PEER} moved"),
        format!("{ours} moved"),
        format!("{READER} moved"),
        format!("{PEER} / {ours}"),
        "whose time moved".into(),
    ]);
    for n in sizes(first, second, element) {
        let at = place(element, n);
        let times = |name: &str| {
            let both = first.time(name, &at).zip(second.time(name, &at));
            both.map_or("–".into(), |(a, b)| format!("{} {}", micros(a.median), micros(b.median)))
        };
        let whose = |name: &str| Move::between(first, second, name, &at);
        let text = |name: &str| whose(name).map_or("–".into(), Move::text);
        let who = whose(PEER).zip(whose(&ours)).map(|(a, b)| Who::of(a, b).text(PEER, &ours));
        table.row([
            size(n),
            times(PEER),
            times(&ours),
            text(PEER),
            text(&ours),
            text(READER),
            cell(first, second, PEER, &ours, &at).unwrap_or_else(|| "–".into()),
            who.unwrap_or_else(|| "–".into()),
        ]);
    }
    if table.is_empty() { String::new() } else { format!("{table}\n") }
}

/// Both ratios, and a mark if they contradict each other.
fn cell(first: &Run, second: &Run, slow: &str, fast: &str, at: &Place<'_>) -> Option<String> {
    let (a, b) = both(first, second, slow, fast, at)?;
    let mark = if a.contradicts(&b) { " †" } else { "" };
    Some(format!("{:.3} {:.3}{mark}", a.0.median, b.0.median))
}

/// A row a variant, a column a size: its ratio to another one, in both runs.
fn ratios(
    first: &Run,
    second: &Run,
    element: &str,
    other: impl Fn(&Variant) -> Option<String>,
) -> Table {
    by_size(first, second, element, |variant, at| {
        cell(first, second, &other(variant)?, &variant.name, at)
    })
}

fn moves(first: &Run, second: &Run, element: &str) -> Table {
    by_size(first, second, element, |variant, at| {
        Move::between(first, second, &variant.name, at).map(Move::text)
    })
}

fn by_size(
    first: &Run,
    second: &Run,
    element: &str,
    cell: impl Fn(&Variant, &Place<'_>) -> Option<String>,
) -> Table {
    let sizes = sizes(first, second, element);
    let mut table = Table::new([String::new()].into_iter().chain(sizes.iter().map(|&n| size(n))));
    for variant in &first.env.variant {
        let cells: Vec<_> = sizes.iter().map(|&n| cell(variant, &place(element, n))).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "–".into()));
            table.row([variant.name.clone()].into_iter().chain(cells));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(median: f64) -> Summary {
        let (low, high) = (0.999 * median, 1.001 * median);
        Summary { count: 40, median, q1: low, q3: high, low, high }
    }

    #[test]
    fn a_time_has_moved_if_it_is_sure_and_worth_a_word() {
        let sure = |first, second| Move::of(&time(first), &time(second)).sure;
        assert!(sure(1000.0, 1010.0) && sure(1010.0, 1000.0));
        // Sure, and four in a thousand; then one percent, and not sure.
        assert!(!sure(1000.0, 1004.0));
        let wide = Summary { high: 1020.0, ..time(1000.0) };
        assert!(!Move::of(&wide, &time(1010.0)).sure);
        assert_eq!(Move::of(&time(1000.0), &time(1010.0)).text(), "+1.0 %");
        assert_eq!(Move::of(&time(1000.0), &time(999.0)).text(), "-0.1 % ·");
    }

    #[test]
    fn who_moved_is_named() {
        let (still, gone) = (Move { by: 0.0, sure: false }, Move { by: 0.02, sure: true });
        let far = Move { by: -0.03, sure: true };
        for (peer, own, who) in [
            (gone, still, "cub"),
            (still, gone, "reduce"),
            (gone, far, "both, reduce more"),
            (far, gone, "both, cub more"),
            (still, still, "neither for sure"),
        ] {
            assert_eq!(Who::of(peer, own).text("cub", "reduce"), who);
        }
    }
}
