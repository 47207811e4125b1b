//! Checks how blocks exchange messages: one block consumes all of them, and each word has its flag in
//! the upper half.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use simt::observe::TraceEvent;

use crate::scene::{Scene, Seen};

/// Returns the message and the line for a kernel whose messages are not those that the exercise
/// requires.
pub(super) fn messages(scene: &Scene<'_>, seen: &Seen) -> Option<(String, u32)> {
    let slots = seen.slots.as_ref()?;
    if let Some(line) = ordinary(scene, seen, slots) {
        let said = format!(
            "line {line} reads `slots` by an ordinary load, although other blocks write it: the compiler may move such a load, repeat it or leave it out; read the value and its flag in one atomic, or by one relaxed or volatile load"
        );
        return Some((said, line));
    }
    match consumer(seen, slots) {
        Ok(consumer) => layout(scene, consumer?).map(|said| (said, 0)),
        Err([one, other]) => Some((
            format!(
                "several blocks consume messages: `slots[{one}]` and `slots[{other}]` are used by different pairs of blocks, but one block must poll for all messages and add the sums"
            ),
            0,
        )),
    }
}

/// Returns the events that access messages, each with the block that it belongs to.
fn accesses<'a>(
    seen: &'a Seen,
    slots: &'a Range<u64>,
) -> impl Iterator<Item = (u64, &'a TraceEvent)> {
    let events = seen.traced.iter().flat_map(|block| {
        let events = block.rounds.iter().flat_map(|round| &round.events);
        events.map(|event| (block.block, event))
    });
    events.filter(|(_, event)| {
        event.space == "global" && event.addresses.iter().any(|at| slots.contains(at))
    })
}

/// Returns the line of a load from the messages that is neither an atomic, nor volatile, nor relaxed.
fn ordinary(scene: &Scene<'_>, seen: &Seen, slots: &Range<u64>) -> Option<u32> {
    let kernel = scene.module.kernel(&scene.entry().ok()?)?;
    let is_ordinary = |event: &TraceEvent| {
        let mut pcs = 0..kernel.len() as u32;
        let text = pcs.find(|pc| kernel.ptx_line(*pc) == event.ptx_line).map(|pc| kernel.text(pc));
        let strong = [".volatile", ".relaxed", ".acquire", ".mmio"];
        text.is_some_and(|text| !strong.iter().any(|word| text.contains(word)))
    };
    let mut loads = accesses(seen, slots).filter(|(_, event)| event.what == "load");
    loads.find(|(_, event)| is_ordinary(event)).map(|(_, event)| event.line)
}

/// Returns the block that uses the words of all other blocks; if there is none, returns two words
/// that have no common user.
fn consumer(seen: &Seen, slots: &Range<u64>) -> Result<Option<u64>, [u64; 2]> {
    let mut users: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (block, event) in accesses(seen, slots) {
        for at in event.addresses.iter().filter(|at| slots.contains(at)) {
            users.entry((at - slots.start) / 8).or_default().insert(block);
        }
    }
    let mut exchanged = users.into_iter().filter(|(_, blocks)| blocks.len() > 1);
    let Some((first, mut all)) = exchanged.next() else { return Ok(None) };
    for (word, blocks) in exchanged {
        all.retain(|block| blocks.contains(block));
        if all.is_empty() {
            return Err([first, word]);
        }
    }
    Ok(all.pop_last())
}

/// Runs only blocks that publish, and returns a failure if the words that they leave have no flag, or
/// if there are too few of them.
fn layout(scene: &Scene<'_>, consumer: u64) -> Option<String> {
    let grid = u64::from(scene.grid);
    let window = match consumer >= grid - consumer - 1 {
        true => (0, consumer),
        false => (consumer + 1, grid),
    };
    let scene = Scene { window: Some(window), watched: false, traced: false, ..*scene };
    let values =
        crate::values::Values::draw(scene.element, scene.n, scene.n, crate::values::Draw::Signed);
    // A block that waits for other blocks does not end if those blocks do not run.
    let left = scene.run(&[values]).ok()?.left.remove(0);
    let used: Vec<(usize, u64)> = left.words.into_iter().enumerate().filter(|w| w.1 != 0).collect();
    let rule = "the upper half of a word is its flag, and the lower half is a part of the sum";
    let words = scene.element.size() / 4;
    let blocks = format!("the blocks {} to {}", window.0, window.1 - 1);
    if let Some((at, word)) = used.iter().find(|(_, word)| word >> 32 == 0) {
        return Some(format!(
            "after {blocks} have published their sums, `slots[{at}]` is {word:#018x}, whose upper half is 0: {rule}"
        ));
    }
    let least = words * (window.1 - window.0);
    ((used.len() as u64) < least).then(|| {
        format!(
            "after {blocks} have published their sums, {} words of `slots` have a message, but the sums have {least} times four bytes: {rule}",
            used.len()
        )
    })
}
