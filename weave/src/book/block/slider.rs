//! Implements `{{slider}}`, which shows the times from one run at a size, and the fastest step over
//! all runs. A script draws bars. If scripts do not run, a sentence refers to the table.

use anyhow::{Result, ensure};
use measured::{Cache, Clock, Role, repeat};
use serde_json::json;

use crate::book::source::{Sources, timed::place};

pub(crate) fn html(sources: &Sources) -> Result<String> {
    let run = sources.run(None)?;
    let sizes = run.sizes("f32", Cache::Cold, Clock::Gpu);
    let mut names: Vec<String> =
        sources.ladder().iter().map(|kernel| kernel.name.clone()).collect();
    let steps = names.len();
    let others = run.env.of(Role::Reduce).chain(run.env.of(Role::Peer));
    names.extend(others.map(|other| other.name.clone()));
    names.retain(|name| run.has(name, "f32", Cache::Cold, Clock::Gpu));
    ensure!(!sizes.is_empty() && !names.is_empty(), "nothing has been measured");
    let micros = |name: &str, n: u64| run.time(name, &place(n)).map(|time| time.median / 1e3);
    let first = repeat::first(&repeat::kind_of(&sources.runs, run));
    let index = |name: &str| names.iter().position(|other| other == name);
    let rows: Vec<_> = sizes
        .iter()
        .map(|&n| {
            let times: Vec<Option<f64>> = names.iter().map(|name| micros(name, n)).collect();
            let bus = place(n).bytes() as f64 / run.env.gpu.bus_bytes_per_second * 1e6;
            let first = first.iter().find(|first| first.n == n);
            let first: Vec<usize> = first.map_or(Vec::new(), |first| {
                let is = |name: &&String| **name == first.step || first.ties.contains(name);
                names.iter().filter(is).filter_map(|name| index(name)).collect()
            });
            json!({ "n": n, "us": times, "bus": bus, "first": first })
        })
        .collect();
    let data = json!({ "names": names, "steps": steps, "rows": rows });
    Ok(format!(
        "\n<figure class=\"slider\">\n<p class=\"slider-still\">This figure needs JavaScript; the plot above shows the same times.</p>\n<script type=\"application/json\">{data}</script>\n"
    ))
}
