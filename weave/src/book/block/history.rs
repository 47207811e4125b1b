//! Shows published tables, with times for the same steps on GPUs that were released over a span of
//! eighteen years.

use anyhow::{Context, Result, anyhow, bail};
use measured::history::Published;

use super::highlight::escape;
use crate::book::source::{
    Sources,
    quantity::{Quantity, Unit, gigabytes, power},
};

/// Finds a table by the slug of its GPU, or by a part of that slug, such as `g80` or
/// `geforce-8800-gtx`.
fn table<'s>(sources: &'s Sources, name: &str) -> Result<&'s Published> {
    let history = sources.history.as_ref().context("there is no results/ladder/history.toml")?;
    history.table.iter().find(|table| slug(&table.gpu).contains(&slug(name))).ok_or_else(|| {
        let known: Vec<String> = history.table.iter().map(|table| slug(&table.gpu)).collect();
        anyhow!(
            "results/ladder/history.toml has no table `{name}`: use one of {}",
            known.join(", ")
        )
    })
}

fn slug(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_lowercase()
}

/// Implements `{{num history TABLE ROW COLUMN}}`.
pub(crate) fn cell(sources: &Sources, name: &str, row: &str, column: &str) -> Result<Quantity> {
    let table = table(sources, name)?;
    let found = table.row.iter().find(|r| r.step == row || slug(&r.name) == slug(row));
    let (value, unit) = match (column, found) {
        ("year", _) => (f64::from(table.year), Unit::Text(table.year.to_string())),
        ("bus", _) => (
            1e9 * table
                .bus_gb_per_s
                .context("the peak memory bandwidth of this GPU is not known")?,
            Unit::Rate,
        ),
        (_, None) => bail!("the table of the {} has no row `{row}`", table.gpu),
        ("gbps", Some(row)) => (1e9 * table.rate(row), Unit::Rate),
        ("time", Some(row)) => (row.us.context("the table gives no time")? / 1e6, Unit::Time),
        ("speedup", Some(row)) => (table.speedup(row), Unit::Factor),
        ("step", Some(_)) => {
            let at = table.row.iter().position(|r| r.step == row || slug(&r.name) == slug(row));
            let last = at.and_then(|at| at.checked_sub(1)).context("no row comes before it")?;
            let (last, this) = (&table.row[last], &table.row[last + 1]);
            (table.rate(this) / table.rate(last), Unit::Factor)
        }
        ("bus%", Some(row)) => {
            let bus =
                table.bus_gb_per_s.context("the peak memory bandwidth of this GPU is not known")?;
            (table.rate(row) / bus, Unit::Share)
        }
        _ => bail!("`{column}`: use time, gbps, bus%, speedup, step, bus or year"),
    };
    Ok(Quantity { value, unit, origin: format!("{}, {}: {}", table.gpu, table.year, table.source) })
}

/// Implements `{{history TABLE}}`.
pub(crate) fn html(sources: &Sources, name: &str) -> Result<String> {
    let table = table(sources, name)?;
    let bus = table.bus_gb_per_s;
    let mut body = String::new();
    let mut last: Option<f64> = None;
    for row in &table.row {
        let rate = table.rate(row);
        let time = row.us.map_or("–".into(), |us| {
            Quantity { value: us / 1e6, unit: Unit::Time, origin: String::new() }.print(None, false)
        });
        let share = bus.map_or("–".into(), |bus| format!("{:.1}\u{a0}%", 100.0 * rate / bus));
        let factor = last.map_or("–".into(), |last| format!("{:.2}×", rate / last));
        let ours = match row.step.is_empty() {
            true => "–".to_owned(),
            false => format!("<a href=\"{0}.html\">{0}</a>", row.step),
        };
        body += &format!(
            "<tr><td>{}</td><td>{ours}</td><td>{time}</td><td>{}</td><td>{share}</td><td>{factor}</td><td>{:.2}×</td></tr>\n",
            escape(&row.name),
            gigabytes(rate),
            table.speedup(row)
        );
        last = Some(rate);
    }
    let mended = match table.mended.is_empty() {
        true => String::new(),
        false => format!(" {}", escape(&table.mended)),
    };
    Ok(format!(
        "<div class=\"table-wrapper\"><table class=\"figures\">\n<caption>{} ({}), {} elements of {} bytes each. Source: {}.{mended}</caption>\n\
         <thead><tr><th>as published</th><th>our step</th><th>time</th><th>GB/s</th><th>of peak bandwidth</th><th>vs. previous</th><th>vs. first</th></tr></thead>\n\
         <tbody>\n{body}</tbody></table></div>\n",
        escape(&table.gpu),
        table.year,
        power(table.n),
        table.bytes,
        linked(&table.source)
    ))
}

/// Formats a source, as a link if it has an address.
pub(crate) fn linked(source: &str) -> String {
    let words = source.split(' ').map(|word| {
        let bare = word.trim_end_matches([',', '.', ')', ';']).trim_start_matches('(');
        match bare.starts_with("http") {
            true => escape(word)
                .replace(&escape(bare), &format!("<a href=\"{0}\">{0}</a>", escape(bare))),
            false => escape(word),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
