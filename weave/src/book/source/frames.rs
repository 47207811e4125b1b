//! Reads and records the committed frames for the steppers.

use std::{collections::BTreeMap, path::Path};

use ::page::{Question, frame::Frame};
use anyhow::{Context, Result, bail};
use common::plan::Block;

use super::file::read as text;

/// The frames for a step, keyed by the number of threads per block.
pub(crate) type Frames = BTreeMap<u32, Vec<Frame>>;

/// The number of elements in a traced sum, which gives every step a few blocks.
const TRACED: u64 = 1 << 18;
/// The number of multiprocessors in the simulated GPU, which is so small that a grid-stride loop
/// takes several iterations.
const SMS: u32 = 8;

/// Reads the committed frames for a step.
pub(crate) fn read(folder: &Path, step: &str) -> Result<Frames> {
    let path = folder.join("traces").join(format!("{step}.json"));
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("{step} has not been traced yet: run `cargo x book --outputs`"))?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// Traces a step with every supported block size, using the function that pages call.
pub(crate) fn trace(step: &str) -> Result<Frames> {
    let kernels = xtask::kernels::all()?;
    let kernel = kernels.iter().find(|kernel| kernel.name == step);
    let kernel = kernel.with_context(|| format!("there is no step `{step}`"))?;
    let question = Question {
        step: step.to_owned(),
        ptx: text(&kernel.folder.join(kernel.ptx("f32")))?,
        source: kernel.source.clone(),
        n: TRACED,
        r#type: "f32".to_owned(),
        threads: None,
        schedule: None,
        sms: Some(SMS),
        checks: false,
        frames: true,
        budget: None,
    };
    let known = ::steps::step(step).map_err(|error| anyhow::anyhow!("{error}"))?;
    let mut frames = Frames::new();
    for block in known.distinct_blocks(&Block::ALL) {
        let threads = block.threads();
        let answer = ::page::run(&Question { threads: Some(threads), ..question.clone() });
        if let Some(why) = answer.stopped.or(answer.wrong) {
            bail!("in blocks of {threads}: {why}");
        }
        frames.insert(threads, answer.frames);
    }
    Ok(frames)
}

/// Formats the frames with one line for each, so that changes can be reviewed.
pub(crate) fn file(frames: &Frames) -> Result<String> {
    let mut text = String::from("{");
    for (index, (threads, frames)) in frames.iter().enumerate() {
        text += if index == 0 { "\n" } else { ",\n" };
        let lines = frames.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        text += &format!("\"{threads}\":[\n{}\n]", lines.join(",\n"));
    }
    Ok(text + "\n}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_a_round_trip() {
        let frames = trace("v7-grid-stride").unwrap();
        let names: Vec<&str> = frames[&256].iter().map(|frame| frame.name.as_str()).collect();
        assert!(
            names.starts_with(&["Load 1", "Load 2"]) && names.ends_with(&["Store"]),
            "{names:?}"
        );
        let folder = std::env::temp_dir().join(format!("weave frames {}", std::process::id()));
        std::fs::create_dir_all(folder.join("traces")).unwrap();
        std::fs::write(folder.join("traces/step.json"), file(&frames).unwrap()).unwrap();
        assert_eq!(read(&folder, "step").unwrap(), frames);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
