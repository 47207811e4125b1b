//! The directives, by name. `book/DIRECTIVES.md` explains the directives to authors.

use anyhow::{Context, Result, bail};

use crate::book::block::{
    compilers, console, highlight::escape, history, inflight, listing, live, loaded, loops, number,
    plot, predicted, probe, profiled, repeated, ring, rows, scatter, slider, stepper, table, task,
    timeline, zoo,
};
use crate::book::source::{BOOK, Sources, counts, file::read, size};
use crate::results;

/// The text that replaces a directive.
pub(crate) enum Woven {
    /// A part of a sentence.
    Inline(String),
    /// A block of HTML.
    Block(String),
    /// A figure that is not closed yet, because its caption follows.
    Figure(String),
}

/// Returns the text that replaces a directive.
pub(crate) fn weave(sources: &Sources, text: &str) -> Result<Woven> {
    let (name, rest) = text.split_once([' ', '\n']).unwrap_or((text, ""));
    let rest = rest.trim();
    let words: Vec<&str> = rest.split_whitespace().collect();
    let block = |html: String| Ok(Woven::Block(format!("\n{}\n", html.trim_matches('\n'))));
    match (name, words.as_slice()) {
        ("num", _) => number::html(sources, rest).map(Woven::Inline),
        ("exact", _) if !rest.is_empty() => Ok(Woven::Inline(rest.to_owned())),
        ("cite", [cite]) => cited(sources, cite, true),
        ("cite", [cite, "source"]) => cited(sources, cite, false),
        ("kernel", [step]) => listing::kernel(sources, step).map(Woven::Block),
        ("driver", [step]) => listing::driver(sources, step, "plan").map(Woven::Block),
        ("driver", [step, function]) => listing::driver(sources, step, function).map(Woven::Block),
        ("diff", [step]) => listing::diff(sources, step, None).map(Woven::Block),
        ("diff", [step, other]) => listing::diff(sources, step, Some(other)).map(Woven::Block),
        ("ptx", _) => {
            let [step, from, to] = quoted(rest)?;
            listing::ptx(sources, step, from, to).map(Woven::Block)
        }
        ("machine", _) => {
            let [step, from, to] = quoted(rest)?;
            listing::machine(sources, step, from, to).map(Woven::Block)
        }
        ("run" | "run!", [_, ..]) => console::run(sources, rest).map(Woven::Block),
        ("excerpt", _) => console::excerpt(sources, rest).map(Woven::Block),
        ("gpu", [step]) => console::gpu(sources, step).map(Woven::Block),
        ("gpu", [step, what @ ("counters" | "profile")]) => {
            profiled::log(sources, step, what).map(|text| Woven::Block(console::block(&text)))
        }
        ("profile", []) => block(profiled::table(sources)?),
        ("trace", [which]) => profiled::picture(sources, which).map(Woven::Figure),
        ("ledger", [step]) => block(table::ledger(sources, step)?),
        ("fastest", []) => block(repeated::fastest(sources)?),
        ("against", [names @ .., on]) if on.starts_with("on=") => {
            block(repeated::against(sources, names, on.strip_prefix("on="))?)
        }
        ("against", [_, ..]) => block(repeated::against(sources, &words, None)?),
        ("clocks", [_, ..]) => block(repeated::clocks(sources, &words)?),
        ("calls", [operation, element]) => block(repeated::calls(sources, operation, element)?),
        ("ways", [n]) => block(table::ways(sources, size(n)?)?),
        ("errors", [_, ..]) => block(table::errors(sources, &words)?),
        ("times", [step]) => block(table::times(sources, step)?),
        ("sass", [step]) => block(table::sass(sources, step)?),
        ("ladder", [n, peers @ ..]) => block(table::ladder(sources, size(n)?, peers)?),
        ("history", [name]) => block(history::html(sources, name)?),
        ("stepper", [step]) => {
            let threads = counts::Case::of(step).threads;
            stepper::html(sources, step, threads, None).map(Woven::Figure)
        }
        ("stepper", [step, threads]) => {
            stepper::html(sources, step, threads.parse()?, None).map(Woven::Figure)
        }
        ("stepper", [step, threads, round]) if round.starts_with("round=") => {
            let round = round["round=".len()..].parse()?;
            stepper::html(sources, step, threads.parse()?, Some(round)).map(Woven::Figure)
        }
        ("probe", [file, columns @ ..]) => block(probe::html(sources, file, columns)?),
        ("predicted", [name, on, names @ ..]) => block(predicted::html(sources, name, on, names)?),
        ("plot", ["predicted", on]) => Ok(points(&predicted::plot(sources, on)?)),
        ("plot", ["latency"]) => Ok(points(&loaded::plot(sources)?)),
        ("plot", ["roofline"]) => Ok(points(&scatter::roofline(sources)?)),
        ("plot", ["occupancy"]) => Ok(points(&scatter::occupancy(sources)?)),
        ("plot", [kind, names @ ..]) => Ok(framed(&plot::html(sources, kind, names)?)),
        ("compilers", [_, ..]) => block(compilers::html(sources, &words)?),
        ("loops", [study, counts @ ..]) => loops::html(sources, study, counts).map(Woven::Block),
        ("rows", ["map"]) => rows::map(sources, "").map(Woven::Figure),
        ("rows", ["map", on]) if on.starts_with("on=") => {
            rows::map(sources, &on[3..]).map(Woven::Figure)
        }
        ("rows", [_, ..]) => block(raised(&results::rows::block(&sources.root, &words)?)),
        ("exact-sums", [first, ..]) if !first.starts_with("on=") => {
            block(raised(&results::exact::block(&sources.root, &words)?))
        }
        ("matrices", ["volume" | "ways", ..]) => {
            block(raised(&results::matrices::block(&sources.root, &words)?))
        }
        ("matrices", [_, ..]) => block(results::matrices::block(&sources.root, &words)?),
        ("ring", [step]) => ring::html(sources, step).map(Woven::Figure),
        ("zoo", []) => block(zoo::table(sources)?),
        ("zoo", [name]) => zoo::one(sources, name).map(Woven::Block),
        ("task", [number]) => task::html(number.parse()?).map(Woven::Block),
        ("live-ladder", []) => live::ladder(sources).map(Woven::Figure),
        ("slider", []) => slider::html(sources).map(Woven::Figure),
        ("timeline", [_, ..]) => timeline::html(sources, &words).map(Woven::Figure),
        ("inflight", [_, ..]) => inflight::html(sources, &words).map(Woven::Figure),
        ("figure", [name]) => drawing(sources, name),
        ("#include", _) => bail!("`{{{{#include}}}}` belongs in a code fence at the margin"),
        _ => bail!("`{{{{{text}}}}}`: book/DIRECTIVES.md has no such directive"),
    }
}

fn framed(html: &str) -> Woven {
    Woven::Figure(format!("\n<figure>\n{}\n", html.trim_matches('\n')))
}

/// Replaces `2^28` with `2<sup>28</sup>` in a table that is plain text in a README.
fn raised(table: &str) -> String {
    let mut parts = table.split("2^");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (power, rest) = part.split_at(end);
        text += &format!("2<sup>{power}</sup>{rest}");
    }
    text
}

/// Wraps a plot of points in a figure.
fn points(html: &str) -> Woven {
    Woven::Figure(format!("\n<figure class=\"points\">\n{html}\n"))
}

/// Splits a text into a word and two quoted texts.
fn quoted(text: &str) -> Result<[&str; 3]> {
    let parts: Vec<&str> = text.split('"').collect();
    match parts[..] {
        [step, from, _, to, _] => Ok([step.trim(), from, to]),
        _ => bail!("write `STEP \"FROM\" \"TO\"`"),
    }
}

/// Formats a cited number, or its source, as a link.
fn cited(sources: &Sources, name: &str, figure: bool) -> Result<Woven> {
    let cite =
        sources.cites.get(name).with_context(|| format!("book/cite.toml has no [{name}]"))?;
    // A number stays on one line together with its unit.
    let text = match cite.text.matches(' ').count() {
        1 => cite.text.replace(' ', "\u{a0}"),
        _ => cite.text.clone(),
    };
    let (text, source, url) = (escape(&text), escape(&cite.source), escape(&cite.url));
    Ok(Woven::Inline(match figure {
        true => format!("<a class=\"cite\" href=\"{url}\" title=\"{source}\">{text}</a>"),
        false => format!("<a class=\"cite\" href=\"{url}\">{source}</a>"),
    }))
}

/// Returns `book/figures/NAME.svg` as inline SVG, because a separate image would not inherit the
/// page's colours.
fn drawing(sources: &Sources, name: &str) -> Result<Woven> {
    let svg = read(&sources.root.join(BOOK).join("figures").join(format!("{name}.svg")))?;
    let svg = &svg[svg.find("<svg").context("an SVG has <svg")?..];
    for part in ["<title>", "<desc>"] {
        if !svg.contains(part) {
            bail!("book/figures/{name}.svg has no {part}, which is part of the alternative text");
        }
    }
    // An empty line would end the HTML block.
    let lines: Vec<&str> = svg.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let label = |part: &str| {
        let from = svg.split(&format!("<{part}>")).nth(1).unwrap_or_default();
        from.split('<').next().unwrap_or_default().trim().to_owned()
    };
    let text = format!("{}: {}", label("title"), label("desc")).replace('"', "&quot;");
    let svg =
        lines.join("\n").replacen("<svg", &format!("<svg role=\"img\" aria-label=\"{text}\""), 1);
    Ok(framed(&format!("<div class=\"drawing\">{svg}</div>")))
}
