//! `{{slider}}`: which step wins at which size. A table without JavaScript, bars with it.

use anyhow::{Result, ensure};
use measured::{Cache, Clock, Role};
use serde_json::json;

use super::{quantity::power, sources::Sources, timed::place};

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
    let rows: Vec<_> = sizes
        .iter()
        .map(|&n| {
            let times: Vec<Option<f64>> = names.iter().map(|name| micros(name, n)).collect();
            let bus = place(n).bytes() as f64 / run.env.gpu.bus_bytes_per_second * 1e6;
            json!({ "n": n, "us": times, "bus": bus })
        })
        .collect();
    let mut table = String::from(
        "<thead><tr><th>elements</th><th>fastest step</th><th>time</th></tr></thead><tbody>",
    );
    for &n in &sizes {
        let best = names[..steps.min(names.len())]
            .iter()
            .filter_map(|name| Some((micros(name, n)?, name)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((time, name)) = best {
            table += &format!(
                "<tr><td>{}</td><td>{name}</td><td>{}\u{a0}µs</td></tr>",
                power(n),
                measured::table::micros(1e3 * time)
            );
        }
    }
    let data = json!({ "names": names, "steps": steps, "rows": rows });
    Ok(format!(
        "\n<figure class=\"slider\">\n<div class=\"slider-still table-wrapper\"><table class=\"figures\"><caption>The fastest step at each size, f32, L2 cold, on one {}.</caption>{table}</tbody></table></div>\n<script type=\"application/json\">{data}</script>\n",
        super::highlight::escape(&run.env.gpu.name)
    ))
}
