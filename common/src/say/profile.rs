//! Implements `--profile`, which shows the times of a whole run on the GPU and on the host.

use std::{collections::BTreeMap, fs, io::Write, path::Path};

use numbers::group;

use super::{
    report::{columns, line, lines, right},
    stop::Stop,
    trace::trace,
};
use crate::{
    Error, Result,
    device::{
        Device,
        cupti::{
            Fault,
            activity::{Event, Kind, Place, Recording},
        },
    },
};

/// A profile in progress, or the error that prevented it. The error is printed after the sums.
pub(super) struct Profile(Result<Recording>);

/// The width of the name column. With the other columns, the table is 80 columns wide.
const NAME: usize = 24;

impl Profile {
    /// Starts a profile.
    pub(super) fn start() -> Profile {
        Profile(Recording::start())
    }

    /// Prints the profile, and writes the trace if a file is given.
    pub(super) fn tell(
        self,
        device: &Device,
        table: bool,
        file: Option<&Path>,
        out: &mut impl Write,
    ) -> Result<(), Stop> {
        let Device::Cuda(cuda) = device else {
            return Err(Error::from(Fault::Interpreter { flag: "--profile" }).into());
        };
        let recording = self.0?;
        cuda.finish()?;
        let (events, version) = recording.finish().map_err(Error::from)?;
        let recorded = events.iter().filter(|event| event.kind == Kind::Kernel).count();
        if recorded as u64 != cuda.launched() {
            let made = cuda.launched();
            return Err(Error::from(Fault::Launches { recorded, made }).into());
        }
        if table {
            let text = format!(
                "the whole run, recorded by CUPTI {version}: {} kernels for {} launches, 0 records dropped",
                group(recorded as u64),
                group(cuda.launched())
            );
            write!(out, "\n{}{}", line("profile", &text), tables(&events))?;
        }
        if let Some(path) = file {
            let doing = || format!("writing {}", path.display());
            let failed = |source| Error::File { doing: doing(), source };
            fs::write(path, trace(&program(), &events).to_string()).map_err(failed)?;
        }
        Ok(())
    }
}

/// Returns the name of this program.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Formats the two tables: the activities on the GPU, and the calls to the driver.
fn tables(events: &[Event]) -> String {
    let (host, gpu): (Vec<&Event>, Vec<&Event>) =
        events.iter().partition(|event| matches!(event.place, Place::Host(_)));
    let part = |title: &str, events: &[&Event]| match rows(events) {
        rows if rows.is_empty() => String::new(),
        rows => format!("\n  {title}\n{}", table(&rows)),
    };
    part("GPU activities", &gpu) + &part("API calls", &host)
}

/// The totals over all events with the same name.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row<'e> {
    name: &'e str,
    share: f64,
    calls: u64,
    total: u64,
    least: u64,
    most: u64,
}

/// Groups the events by name, with the largest total first.
fn rows<'e>(events: &[&'e Event]) -> Vec<Row<'e>> {
    let mut rows: BTreeMap<&str, Row<'e>> = BTreeMap::new();
    let mut all = 0;
    for event in events {
        let took = event.end.saturating_sub(event.start);
        let new =
            Row { name: &event.name, share: 0.0, calls: 0, total: 0, least: u64::MAX, most: 0 };
        let row = rows.entry(&event.name).or_insert(new);
        row.calls += 1;
        row.total += took;
        row.least = row.least.min(took);
        row.most = row.most.max(took);
        all += took;
    }
    let mut rows: Vec<Row<'e>> = rows.into_values().collect();
    rows.iter_mut().for_each(|row| row.share = 100.0 * row.total as f64 / all.max(1) as f64);
    rows.sort_by_key(|row| std::cmp::Reverse(row.total));
    rows
}

fn table(rows: &[Row<'_>]) -> String {
    let mut table = columns(&["share", "time", "calls", "average", "least", "most", "name"]);
    for row in rows {
        table.add_row([
            format!("{:.1}%", row.share),
            time(row.total as f64),
            group(row.calls),
            time(row.total as f64 / row.calls as f64),
            time(row.least as f64),
            time(row.most as f64),
            shortened(row.name),
        ]);
    }
    lines(&right(&mut table, 0..6))
}

/// Formats nanoseconds with three digits and a unit.
fn time(nanos: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let unit = units.into_iter().find(|(factor, _)| nanos >= 0.9995 * factor);
    let (factor, unit) = unit.unwrap_or((1.0, "ns"));
    let value = nanos / factor;
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {unit}")
}

/// Shortens a name to the width of its column.
fn shortened(name: &str) -> String {
    match name.chars().count() {
        ..=NAME => name.to_owned(),
        _ => name.chars().take(NAME - 1).collect::<String>() + "…",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(place: Place, kind: Kind, name: &str, start: u64, end: u64) -> Event {
        Event { place, kind, name: name.into(), start, end, amount: 0 }
    }

    #[test]
    fn a_time_has_three_digits_whatever_its_unit() {
        for (nanos, text) in [
            (0.0, "0.00 ns"),
            (79.4, "79.4 ns"),
            (999.9, "1.00 µs"),
            (9_995.0, "10.0 µs"),
            (12_345.0, "12.3 µs"),
            (99_950.0, "100 µs"),
            (99_960.0, "100 µs"),
            (146_310_000.0, "146 ms"),
            (2.5e9, "2.50 s"),
        ] {
            assert_eq!(time(nanos), text);
        }
    }

    #[test]
    fn a_row_has_share_sum_count_mean_and_extremes() {
        let (gpu, host) = (Place::Stream(7), Place::Host(1));
        let long = "cuOccupancyMaxPotentialClusterSize";
        let events = [
            event(gpu, Kind::Kernel, "reduce", 0, 1000),
            event(gpu, Kind::Kernel, "reduce", 2000, 5000),
            event(gpu, Kind::Copy, "[memcpy HtoD]", 6000, 18_000),
            event(host, Kind::Call, long, 0, 999_990_000),
        ];
        let found = rows(&events.iter().take(3).collect::<Vec<_>>());
        let copy = Row {
            name: "[memcpy HtoD]",
            share: 75.0,
            calls: 1,
            total: 12_000,
            least: 12_000,
            most: 12_000,
        };
        let reduce =
            Row { name: "reduce", share: 25.0, calls: 2, total: 4000, least: 1000, most: 3000 };
        assert_eq!(found, [copy, reduce]);
        let text = tables(&events);
        let row = text.lines().find(|line| line.ends_with("reduce")).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        let units = ["25.0%", "4.00", "µs", "2", "2.00", "µs", "1.00", "µs", "3.00", "µs"];
        assert_eq!(cells[..10], units);
        assert!(text.contains("API calls") && text.contains("cuOccupancyMaxPotential…"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(tables(&events[..3]).contains("GPU") && !tables(&events[..3]).contains("API"));
    }

    #[test]
    fn a_program_is_called_as_its_file_is() {
        assert!(program().starts_with("common-"), "{}", program());
    }
}
