//! The findings about uses of uninitialized values.

use super::finding::{Fault, Finding, Site};
use super::scene::Scene;
use crate::observer::{At, Unwritten, Use};
use crate::place::thread;

/// Describes the use of a value.
fn used(site: &Site, what: &str, value: &str) -> String {
    let (who, line) = (thread(site.thread), &site.at);
    match what {
        "" => format!("{who} stores at {line} {value}"),
        _ => format!("{who} uses as {what} at {line} {value}"),
    }
}

/// Creates a finding about the use of a variable that was never set, or of a value that was computed
/// from one.
pub(super) fn of_variable(scene: &Scene, at: &At<'_>, lanes: u32, of: Use) -> Finding {
    let user = at.linear(lanes.trailing_zeros());
    let site = scene.site(at.block.index, user, at.pc, "use");
    let from = match of.from {
        Unwritten::Value(pc) => Some(scene.kernel.place(pc)),
        _ => None,
    };
    // If the line is the same, this line uses the variable itself.
    let from = from.filter(|from| *from != site.at);
    let there = from.as_ref().map_or(String::new(), |from| format!(" that is used at {from}"));
    let detail = match (&from, of.what) {
        (Some(from), what) => {
            let value =
                format!("a value that was computed from an uninitialized variable at {from}");
            used(&site, what, &value)
        }
        (None, "") => {
            format!("{} stores an uninitialized variable at {}", thread(site.thread), site.at)
        }
        (None, what) => format!(
            "{} uses an uninitialized variable as {what} at {}",
            thread(site.thread),
            site.at
        ),
    };
    Finding {
        detail,
        cure: format!(
            "initialize the variable{there} where it is declared (`= 0` for a sum), or assign it on every \
             path"
        ),
        ..scene.finding(Fault::Unset, vec![site])
    }
}

/// Creates a finding about the use of a value from a lane that does not take part in the shuffle at
/// an instruction.
pub(super) fn of_shuffle(
    scene: &Scene,
    at: &At<'_>,
    lanes: u32,
    (what, shuffle): (&str, u32),
) -> Finding {
    let user = at.linear(lanes.trailing_zeros());
    let site = scene.site(at.block.index, user, at.pc, "use");
    let shuffle = scene.site(at.block.index, user, shuffle, "shuffle");
    let value = match shuffle.at == site.at {
        true => "a value of the shuffle at the same line".into(),
        false => format!("a value of the shuffle at {}", shuffle.at),
    };
    Finding {
        detail: format!(
            "{}, but the source lane does not take part in the shuffle",
            used(&site, what, &value)
        ),
        cure: "the value is undefined; let every source lane take part, or do not use the value"
            .into(),
        ..scene.finding(Fault::BadLane, vec![shuffle])
    }
}
