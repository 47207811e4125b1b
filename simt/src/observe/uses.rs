//! The findings about uses of uninitialized values.

use super::finding::{Fault, Finding, Site};
use super::scene::Scene;
use crate::flow::{self, Reg};
use crate::inst::{Alu, F, Op};
use crate::kernel::Kernel;
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

/// Finds the only instructions that set a variable which an instruction uses, if a predicate guards
/// each of them. Returns the first of them.
fn guarded(kernel: &Kernel, user: u32) -> Option<u32> {
    let unset = &kernel.flow()?.unset;
    let reads = |pc: u32| {
        let mut reads = Vec::new();
        let on_read = &mut |src, _| reads.extend(flow::read(src));
        kernel.insts[pc as usize].op.registers(on_read, &mut |_| ());
        reads
    };
    let writers = |reg: Reg| -> Vec<u32> {
        let writes = |pc: &u32| {
            let mut found = false;
            let on_write = &mut |dst| found |= flow::written(dst) == Some(reg);
            kernel.insts[*pc as usize].op.registers(&mut |_, _| (), on_write);
            found
        };
        (0..kernel.insts.len() as u32).filter(writes).collect()
    };
    reads(user).into_iter().find_map(|mut reg| {
        // A variable may be copied before it is used.
        for _ in 0..8 {
            let writers = writers(reg);
            let all = writers.iter().all(|pc| kernel.insts[*pc as usize].guard.is_some());
            if all && unset.contains(&reg) {
                return writers.first().copied();
            }
            match writers[..] {
                [only] if is_copy(&kernel.insts[only as usize].op) => {
                    reg = *reads(only).first()?;
                }
                _ => return None,
            }
        }
        None
    })
}

fn is_copy(op: &Op) -> bool {
    matches!(op, Op::Alu { alu: Alu { f: F::Mov, .. }, .. })
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
    let user = match of.from {
        Unwritten::Value(pc) => pc,
        _ => at.pc,
    };
    if let Some(setter) = guarded(&scene.kernel, user) {
        return Finding {
            detail,
            cure: format!(
                "only the instruction at {} sets the variable, and only if its predicate is true; \
                 in inline assembly, set the output before that instruction, or write `+` for `=` in \
                 the constraint of the output and initialize the variable",
                scene.kernel.place(setter)
            ),
            ..scene.finding(Fault::Unset, vec![site])
        };
    }
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
