//! Writes a recording as a trace in Chrome's format, which Perfetto displays:
//! <https://ui.perfetto.dev>.
//!
//! Each host thread and each GPU stream is a track. The events in a track are nested or disjoint.
//! An event that partially overlaps another, such as a kernel that starts early, goes to another
//! track.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::device::cupti::activity::{Event, Kind, Place};

/// Builds the trace for a program's events, which must be sorted by their start times.
pub fn trace(program: &str, events: &[Event]) -> Json {
    let first = events.first().map_or(0, |event| event.start);
    let micros = |nanos: u64| nanos as f64 / 1e3;
    let mut tracks: BTreeMap<Place, Vec<Track<'_>>> = BTreeMap::new();
    for event in events {
        let lanes = tracks.entry(event.place).or_default();
        let lane = lanes.iter_mut().position(|lane| lane.takes(event));
        let lane = lane.unwrap_or_else(|| {
            lanes.push(Track::default());
            lanes.len() - 1
        });
        lanes[lane].put(event);
    }
    let mut rows = vec![named("process_name", 0, program.to_owned())];
    let all = tracks.iter().flat_map(|(place, lanes)| lanes.iter().map(move |lane| (place, lane)));
    for (number, (place, lane)) in all.enumerate() {
        let number = number + 1;
        let name = match place {
            Place::Host(_) => "host".to_owned(),
            Place::Stream(stream) => format!("GPU, stream {stream}"),
        };
        rows.push(named("thread_name", number, name));
        rows.push(json!({
            "ph": "M", "name": "thread_sort_index", "pid": 1, "tid": number,
            "args": { "sort_index": number },
        }));
        rows.extend(lane.events.iter().map(|event| {
            json!({
                "ph": "X", "name": &*event.name, "cat": category(event.kind), "pid": 1,
                "tid": number, "ts": micros(event.start - first),
                "dur": micros(event.end.saturating_sub(event.start)), "args": arguments(event),
            })
        }));
    }
    json!({ "displayTimeUnit": "ns", "traceEvents": rows })
}

/// A track, and the end times of its open events.
#[derive(Default)]
struct Track<'e> {
    events: Vec<&'e Event>,
    open: Vec<u64>,
}

impl<'e> Track<'e> {
    /// Returns whether the event fits into the track. An event fits if no other event is open when
    /// it starts, or if it lies within the innermost open event.
    fn takes(&mut self, event: &Event) -> bool {
        while self.open.last().is_some_and(|&end| end <= event.start) {
            self.open.pop();
        }
        self.open.last().is_none_or(|&end| event.end <= end)
    }

    fn put(&mut self, event: &'e Event) {
        self.open.push(event.end);
        self.events.push(event);
    }
}

fn named(what: &str, number: usize, name: String) -> Json {
    json!({ "ph": "M", "name": what, "pid": 1, "tid": number, "args": { "name": name } })
}

fn category(kind: Kind) -> &'static str {
    match kind {
        Kind::Call => "driver",
        Kind::Kernel => "kernel",
        Kind::Copy => "copy",
        Kind::Fill => "fill",
    }
}

fn arguments(event: &Event) -> Json {
    match event.kind {
        Kind::Call => json!({}),
        Kind::Kernel => json!({ "blocks": event.amount }),
        Kind::Copy | Kind::Fill => json!({ "bytes": event.amount }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(place: Place, name: &str, start: u64, end: u64) -> Event {
        let kind = if let Place::Host(_) = place { Kind::Call } else { Kind::Kernel };
        Event { place, kind, name: name.into(), start, end, amount: 7 }
    }

    /// Returns the spans in each track, as (start, end) in nanoseconds.
    fn spans(trace: &Json) -> BTreeMap<u64, Vec<(u64, u64)>> {
        let mut tracks: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        for row in trace["traceEvents"].as_array().unwrap() {
            if row["ph"] == "X" {
                let nanos = |key: &str| (row[key].as_f64().unwrap() * 1e3).round() as u64;
                let track = row["tid"].as_u64().unwrap();
                tracks.entry(track).or_default().push((nanos("ts"), nanos("ts") + nanos("dur")));
            }
        }
        tracks
    }

    #[test]
    fn host_and_stream_are_tracks_and_time_starts_at_the_first() {
        let host = Place::Host(4711);
        let trace = trace(
            "v1",
            &[
                event(host, "cuInit", 1_000, 3_500),
                event(host, "cuLaunchKernel", 4_000, 4_001),
                event(Place::Stream(13), "reduce", 5_000, 9_000),
            ],
        );
        assert_eq!(
            spans(&trace),
            BTreeMap::from([(1, vec![(0, 2500), (3000, 3001)]), (2, vec![(4000, 8000)])])
        );
        let rows = trace["traceEvents"].as_array().unwrap();
        let names: Vec<&str> = rows.iter().filter_map(|row| row["args"]["name"].as_str()).collect();
        assert_eq!(names, ["v1", "host", "GPU, stream 13"]);
        assert!(rows.iter().any(|row| row["name"] == "reduce" && row["args"]["blocks"] == 7));
    }

    #[test]
    fn partially_overlapping_events_have_their_own_tracks() {
        let stream = Place::Stream(7);
        let trace = trace(
            "v1",
            &[
                event(stream, "outer", 0, 100),
                event(stream, "inner", 10, 20),
                event(stream, "early", 90, 130),
                event(stream, "next", 100, 120),
                event(stream, "last", 130, 131),
            ],
        );
        let found = spans(&trace);
        assert_eq!(found[&1], [(0, 100), (10, 20), (100, 120), (130, 131)]);
        assert_eq!(found[&2], [(90, 130)]);
    }

    #[test]
    fn each_kind_of_event_has_its_category_and_its_amount() {
        let kinds = [Kind::Call, Kind::Kernel, Kind::Copy, Kind::Fill];
        let events = kinds.map(|kind| Event { kind, ..event(Place::Stream(7), "e", 0, 1) });
        let trace = trace("v1", &events);
        let rows = trace["traceEvents"].as_array().unwrap().iter().filter(|row| row["ph"] == "X");
        let found: Vec<Json> = rows.map(|row| json!([row["cat"], row["args"]])).collect();
        assert_eq!(
            found,
            [
                json!(["driver", {}]),
                json!(["kernel", { "blocks": 7 }]),
                json!(["copy", { "bytes": 7 }]),
                json!(["fill", { "bytes": 7 }]),
            ]
        );
    }
}
