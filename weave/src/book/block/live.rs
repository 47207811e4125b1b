//! Writes the files that the interactive figures load at the first click: kernels as scripts, the
//! committed interpreter, and the scripts in `book/live/`.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use common::{Step, plan::Block};
use serde_json::{Value, json};
use xtask::kernels::{self, Kernel};

use crate::book::source::{BOOK, Sources, file::read};

/// The first step whose grid depends on the number of multiprocessors, as do the grids of later
/// steps.
const SIZED: &str = "v7-grid-stride";
/// The initial number of elements in an interactive figure, which gives every step a few blocks.
const N: u64 = 1 << 12;
const MORE: u64 = 1 << 16;

/// Returns the data for a step's interactive figure; null if there is no interpreter.
pub(crate) fn facts(sources: &Sources, name: &str) -> Result<Value> {
    if !sources.root.join(crate::wasm::MODULES[0].file).exists() {
        return Ok(Value::Null);
    }
    let step = ::steps::step(name).map_err(|error| anyhow::anyhow!("{error}"))?;
    let before = sources.before(name)?.map(|kernel| kernel.name.as_str());
    let at = |name: &str| ::steps::STEPS.iter().position(|step| step.name == name);
    let sized = at(name) >= at(SIZED);
    let variants: Vec<Value> = variants(step, before)?
        .into_iter()
        .map(|v| json!({ "name": v.name, "step": v.step, "label": v.label, "knob": v.knob }))
        .collect();
    let n = if sized { MORE } else { N };
    Ok(json!({ "before": before, "n": n, "sms": sized, "variants": variants }))
}

/// An alternative kernel for a step's figure.
struct Variant {
    name: String,
    /// The step whose plan launches the kernel.
    step: String,
    /// The label of the kernel's button.
    label: String,
    /// The slider for a number in the kernel: its label, range and initial value.
    knob: Option<Value>,
}

/// Parses a kernel's second line: `// Slider: words from lane to lane, 1 to 33, first 2.`
fn knob(source: &str) -> Option<Value> {
    let line = source.lines().nth(1)?.strip_prefix("// Slider: ")?.strip_suffix('.')?;
    let (label, numbers) = line.split_once(", ")?;
    let (ends, at) = numbers.split_once(", first ")?;
    let (from, to) = ends.split_once(" to ")?;
    let [from, to, at] = [from, to, at].map(|number| number.parse::<u32>().ok());
    Some(json!({ "label": label, "from": from?, "to": to?, "at": at? }))
}

fn variants(step: &Step, before: Option<&str>) -> Result<Vec<Variant>> {
    let mut all = Vec::new();
    // The kernel of the previous step is offered if both steps have the same launches.
    if let Some(before) = before
        && ::steps::step(before).is_ok_and(|other| same_plan(step, other))
    {
        all.push(Variant {
            name: before.to_owned(),
            step: step.name.to_owned(),
            label: format!("the kernel of {}", before.split('-').next().unwrap_or(before)),
            knob: None,
        });
    }
    for broken in broken(step.name)? {
        let label = broken.source.lines().next().unwrap_or_default();
        all.push(Variant {
            name: broken.name.clone(),
            step: step.name.to_owned(),
            label: label.trim_start_matches("// ").trim_end_matches('.').to_owned(),
            knob: knob(&broken.source),
        });
    }
    all.extend(step.variants.iter().map(|variant| Variant {
        name: variant.name.to_owned(),
        step: variant.name.to_owned(),
        label: variant.name.rsplit('/').next().unwrap_or_default().replace('-', " "),
        knob: None,
    }));
    Ok(all)
}

/// Returns whether two steps have the same launches at a size that is not a multiple of any block.
fn same_plan(a: &Step, b: &Step) -> bool {
    let plan = |step: &Step| {
        (step.plan)(&common::plan::Problem {
            n: 100_003,
            block: Block::USUAL,
            element: common::Element::F32,
            chip: common::plan::Chip::H200,
        })
    };
    plan(a) == plan(b)
}

/// Returns the kernels in `book/live/kernels/` that belong to a step.
fn broken(step: &str) -> Result<Vec<Kernel>> {
    let mut kernels = kernels::page()?;
    kernels.retain(|kernel| kernel.name.split('/').next() == Some(step));
    Ok(kernels)
}

/// Removes a script's comments and indentation, which make up a tenth of its size. This is safe
/// because no string in the scripts in `book/live/` spans several lines.
fn lean(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    lines.map(|line| line.to_owned() + "\n").collect()
}

/// Removes the parts of the PTX that a page does not use: comments (including the stamp), columns,
/// and the names of inlined functions. Line numbers are kept.
fn lean_ptx(ptx: &str) -> String {
    let ptx = ptx.split_once("\t.section\t.debug_str").map_or(ptx, |(code, _)| code);
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        match line.trim_start() {
            comment if comment.starts_with("//") => {}
            word if word.starts_with(".loc") => {
                let parts = line.split(", ").filter(|part| !part.starts_with("function_name "));
                let parts =
                    parts.filter_map(|part| Some(part.rsplit_once(' ')?.0.to_owned() + " 0"));
                text += &parts.collect::<Vec<_>>().join(", ");
            }
            _ => text += line,
        }
        text.push('\n');
    }
    text
}

/// Implements `{{live-ladder}}`, which counts all steps at one size, in the page, after a click on
/// a button. If scripts do not run, only the surrounding text is shown.
pub(crate) fn ladder(sources: &Sources) -> Result<String> {
    let steps: Vec<Value> = sources
        .ladder()
        .iter()
        .map(|kernel| {
            let step = ::steps::step(&kernel.name).map_err(|error| anyhow::anyhow!("{error}"))?;
            Ok(json!({ "name": step.name, "blocks": step.blocks }))
        })
        .collect::<Result<_>>()?;
    let data = Value::Array(steps).to_string().replace("</", "<\\/");
    Ok(format!(
        "\n<figure class=\"stepper live-ladder\" id=\"live-ladder\">\n<div class=\"lv-ladder\"></div>\n<script type=\"application/json\">{data}</script>\n"
    ))
}

/// Writes the folder `live/`, which the pages use.
pub(crate) fn write(html: &Path) -> Result<()> {
    let root = xtask::root();
    let folder = html.join("live");
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(root.join(BOOK).join("live"))? {
        let path = entry?.path();
        if path.is_file() {
            fs::write(
                folder.join(path.file_name().context("a file has a name")?),
                lean(&read(&path)?),
            )?;
        }
    }
    let mut all = kernels::all()?;
    all.retain(|kernel| ::steps::step(&kernel.name).is_ok());
    all.extend(kernels::page()?);
    super::timeline::write(&folder, &all)?;
    for kernel in all {
        for element in common::Element::ALL {
            let ptx = lean_ptx(&read(&kernel.folder.join(kernel.ptx(element.name())))?);
            let text = json!({ "source": kernel.source, "ptx": ptx });
            let name = kernel.name.replace('/', "--");
            let script = format!("live.kernel({:?}, {:?}, {text});\n", kernel.name, element.name());
            fs::write(folder.join(format!("{name}.{element}.js")), script)?;
        }
    }
    // Write the hints of each exercise, and the skeleton, which readers edit in a served page.
    for task in &judge::TASKS {
        let exercise = check::exercise::Exercise::of(task.number)?;
        let (source, hints) = (json!(read(&exercise.kernel())?), json!(exercise.text()?.1));
        let script = format!("live.task({}, {source}, {hints});\n", task.number);
        fs::write(folder.join(format!("task-{}.js", task.number)), script)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lean_ptx_keeps_its_lines() {
        let ptx = "// stamp\n.target sm_60\n\t// a note\n\t.loc\t1 12 5, function_name $L__info_string0, inlined_at 1 48 5\n\tmov.u32 %r1, 2; // the slider\n\t.section\t.debug_str\n\t{\n";
        let lean = "\n.target sm_60\n\n\t.loc\t1 12 0, inlined_at 1 48 0\n\tmov.u32 %r1, 2; // the slider\n";
        assert_eq!(lean_ptx(ptx), lean);
    }

    #[test]
    fn a_slider_s_number_is_in_source_and_ptx() {
        let head = "// A.\n// Slider: words from lane to lane, 1 to 33, first 2.\n";
        let one = json!({ "label": "words from lane to lane", "from": 1, "to": 33, "at": 2 });
        assert_eq!(knob(head), Some(one));
        assert_eq!(knob("// A.\n// Slider: words, 1 to many, first 2.\n"), None);
        assert_eq!(knob("// A.\n"), None);
        let all = kernels::page().unwrap();
        let turned: Vec<&Kernel> = all.iter().filter(|k| knob(&k.source).is_some()).collect();
        assert!(!turned.is_empty());
        for kernel in turned {
            assert_eq!(kernel.source.matches("; // the slider").count(), 1, "{}", kernel.name);
            for element in common::Element::ALL {
                let ptx = read(&kernel.folder.join(kernel.ptx(element.name()))).unwrap();
                assert_eq!(ptx.matches("; // the slider").count(), 1, "{} {element}", kernel.name);
            }
        }
    }

    /// The page's module takes the list of the steps from the crate `steps`, because the ladder
    /// depends on the libraries for GPUs.
    #[test]
    fn the_page_has_the_steps_of_the_ladder() {
        let names =
            |steps: &[&common::Step]| steps.iter().map(|step| step.name).collect::<Vec<_>>();
        assert_eq!(names(&::steps::STEPS), names(&ladder::STEPS));
    }
}
