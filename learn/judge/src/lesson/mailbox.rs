//! Checks how blocks exchange messages: one block consumes all of them, and each word has its flag in
//! the upper half.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use simt::observe::TraceEvent;

use crate::scene::{Scene, Seen};
use crate::values::{Draw, Values};

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

/// Runs only blocks that publish. Returns a failure if they wait for the block that polls, if the
/// words that they leave have no flag, or if there are too few of these words.
fn layout(scene: &Scene<'_>, consumer: u64) -> Option<String> {
    let scene = Scene { watched: false, traced: false, ..*scene };
    let last = u64::from(scene.grid) - 1;
    let window = |end: u64| if 2 * consumer >= last { (0, end) } else { (consumer + 1, end + 1) };
    let here = Scene { window: Some(window(consumer.max(last - consumer))), ..scene };
    let bytes = |n| Values::draw(scene.element, n, scene.n, Draw::Signed).bytes();
    let flags = match flags(&here, &bytes(scene.n)) {
        Ok(flags) => flags,
        Err(said) => return Some(said),
    };
    // A sum of 0 shows which half is the flag.
    if let Err(said) = self::flags(&here, &vec![0; bytes(scene.n).len()]) {
        return Some(said);
    }
    let more = Scene { n: scene.n + 1, ..here };
    match self::flags(&more, &bytes(more.n)) {
        Ok(others) if others == flags => {}
        Ok(_) => {
            return Some(format!(
                "the flags differ from those for n = {}: a flag that depends on n is 0 for some n, so use a constant",
                numbers::size(more.n)
            ));
        }
        Err(said) => return Some(said),
    }
    let most = scene.task.shape.most().filter(|_| consumer == 0 || consumer == last)?;
    let end = u64::from(most) - 1;
    let large = Scene { grid: most, window: Some(window(end)), ..scene };
    self::flags(&large, &bytes(scene.n)).err()
}

/// Runs the blocks of a window, checks the words that they leave, and returns the flags.
fn flags(scene: &Scene<'_>, bytes: &[u8]) -> Result<BTreeSet<u64>, String> {
    let (first, end) = scene.window.unwrap_or_default();
    let blocks = format!("the blocks {first} to {}", end - 1);
    let Ok(mut seen) = scene.run_bytes(bytes) else {
        return Err(format!(
            "in a grid of {} blocks, {blocks} do not end unless the remaining block runs at the same time, and it may start only when they have ended: only the block that polls may wait",
            scene.grid
        ));
    };
    let words = seen.left.remove(0).words;
    let used: Vec<(usize, u64)> = words.into_iter().enumerate().filter(|w| w.1 != 0).collect();
    let rule = "the upper half of a word is its flag, and the lower half is a part of the sum";
    if let Some((at, word)) = used.iter().find(|(_, word)| word >> 32 == 0) {
        return Err(format!(
            "after {blocks} have published their sums, `slots[{at}]` is {word:#018x}, whose upper half is 0: {rule}"
        ));
    }
    let least = scene.element.size() / 4 * (end - first);
    match (used.len() as u64) < least {
        true => Err(format!(
            "after {blocks} have published their sums, {} words of `slots` have a message, but the sums have {least} times four bytes: {rule}",
            used.len()
        )),
        false => Ok(used.iter().map(|(_, word)| word >> 32).collect()),
    }
}
