//! Finds state that a run leaves for the next one, such as tickets or message flags that are not
//! reset.

use super::job::Job;
use crate::{
    Result,
    device::Address,
    plan::Scratch,
    sum::{Mismatch, Run, Verdict},
};

impl Job<'_> {
    /// Finds message flags that are left set although the sums are right. The next run would
    /// mistake the old messages for its own; in this run, the order of the blocks hid the error.
    pub(super) fn flags_left_set(&self, verdict: Verdict) -> Result<Option<Box<Mismatch>>> {
        let mut changed = self.changed()?;
        changed.retain(|(kind, _)| matches!(kind, Scratch::Messages(_)));
        let Some(&(Scratch::Messages(count), first)) = changed.first() else { return Ok(None) };
        let mut wrong = Mismatch::of(self.step, &self.problem, Run::Messages, verdict, None);
        wrong.leftover = Some(format!(
            "{} of {} message flags are set when it ends, the first of them in slot {first}, and a later run would take this run's values for its own: clear each flag when its value is consumed",
            changed.len(),
            count * self.problem.element.size() / 4
        ));
        Ok(Some(Box::new(wrong)))
    }

    /// Describes the state that a run leaves for the next one, if the sum is wrong in the second
    /// run.
    pub(super) fn leftover(&self, input: Address<'_>) -> Result<Option<String>> {
        let found = self.state_is_reset()?;
        // Two more runs start from the initial state, and the atomics are observed. An error that
        // stops these runs is already known.
        let findings = self.device.state_of(self.problem.n, || {
            self.start_anew()?;
            let calls = self.calls(input)?;
            (0..2).try_for_each(|_| self.launch(&calls))
        });
        // Slots whose flags are clear may keep old values.
        let told = findings.iter().find(|finding| !found || !self.is_scratch(finding.address));
        Ok(match told {
            Some(finding) => Some(finding.sentence()),
            None if found => None,
            None => Some("its tickets or message flags were zero when it began and not when it ended: let the last block reset them".into()),
        })
    }

    fn is_scratch(&self, address: u64) -> bool {
        self.scratch.iter().any(|memory| memory.address().numbers().contains(&address))
    }

    /// Restores the scratch memory to its state before the first run.
    fn start_anew(&self) -> Result<()> {
        for (memory, kind) in self.scratch.iter().zip(&self.plan.scratch) {
            match kind {
                Scratch::Zeroed(_) | Scratch::Messages(_) => self.device.fill(memory, 0)?,
                Scratch::Partials(_) => self.device.poison(memory)?,
            }
        }
        self.device.restart();
        Ok(())
    }

    /// Whether the run reset the state that every run expects to be zero: counters and message
    /// flags.
    pub fn state_is_reset(&self) -> Result<bool> {
        Ok(self.changed()?.is_empty())
    }

    /// Returns the eight-byte words that should be zero but are not. Each is identified by its
    /// buffer and its index.
    fn changed(&self) -> Result<Vec<(Scratch, usize)>> {
        let mut changed = Vec::new();
        for (memory, &kind) in self.scratch.iter().zip(&self.plan.scratch) {
            // The lower half of a slot, the message's value, may keep its contents.
            let (bytes, kept) = match kind {
                Scratch::Partials(_) => continue,
                Scratch::Zeroed(bytes) => (bytes, 0),
                Scratch::Messages(count) => (2 * count * self.problem.element.size(), 4),
            };
            let mut found = vec![0; bytes as usize];
            self.device.read(memory, &mut found)?;
            for (number, word) in found.chunks(8).enumerate() {
                if word[kept..].iter().any(|&byte| byte != 0) {
                    changed.push((kind, number));
                }
            }
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Element, Step,
        device::{Choice, Device, Settings},
        plan::{Arg, Block, Buffer, Holds, Plan, Stage},
        run::played,
        sum::{Input, Workload},
    };

    /// A kernel in which one thread adds all elements, and then stores to the second of three
    /// slots.
    const POSTING: &str = "
.version 8.4
.target sm_60
.address_size 64
.visible .entry reduce(.param .u64 in, .param .u64 out, .param .u64 n, .param .u64 boxes)
{
    .reg .pred %p;
    .reg .u32 %sum, %x, %lane;
    .reg .u64 %in, %out, %n, %boxes;
    mov.u32 %lane, %tid.x;
    setp.ne.u32 %p, %lane, 0;
    @%p ret;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    ld.param.u64 %n, [n];
    ld.param.u64 %boxes, [boxes];
    mov.u32 %sum, 0;
again:
    setp.eq.u64 %p, %n, 0;
    @%p bra done;
    ld.global.u32 %x, [%in];
    add.u32 %sum, %sum, %x;
    add.u64 %in, %in, 4;
    sub.u64 %n, %n, 1;
    bra again;
done:
    st.global.u32 [%out], %sum;
    atom.global.exch.b32 %x, [%boxes+12], 5;
    ret;
}
";

    static POSTS: Step = played::step("posting", |problem| {
        let args = vec![
            Arg::Address(Buffer::Input),
            Arg::Address(Buffer::Result),
            Arg::U64(problem.n),
            Arg::Address(Buffer::Scratch(0)),
        ];
        let stages = vec![Stage { sums: Buffer::Result, holds: Holds::ALL, depth: 1 }];
        let launch = played::launch(problem, 1, args, stages);
        Plan { launches: vec![launch], scratch: vec![Scratch::Messages(3)] }
    });

    /// Returns the kernel's error on 33 elements; `None` if the kernel is verified.
    fn posted(text: &str) -> Option<String> {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let ptx = played::ptx(text);
        let problem = device.problem(33, Block::new(64).unwrap(), Element::I32);
        let job = Job::load(&device, &POSTS, &ptx, problem).unwrap();
        let workload = Workload::<i32>::new(&device, Input::Ones, 33, 1).unwrap();
        job.verify(&workload).unwrap().wrong.map(|wrong| wrong.to_string())
    }

    #[test]
    fn set_flags_are_an_error_even_if_the_sums_are_right() {
        assert_eq!(
            posted(POSTING).expect("a flag is set"),
            "posting is wrong, though its sums are right: 1 of 3 message flags are set when it \
             ends, the first of them in slot 1, and a later run would take this run's values for \
             its own: clear each flag when its value is consumed"
        );
        // The next two kernels set the flags of the first and of the last slot.
        let first = posted(&POSTING.replace("[%boxes+12]", "[%boxes+4]")).expect("a flag is set");
        assert!(first.contains("in slot 0"), "{first}");
        let last = posted(&POSTING.replace("[%boxes+12]", "[%boxes+20]")).expect("a flag is set");
        assert!(last.contains("in slot 2"), "{last}");
        // A message's value may keep its contents.
        assert_eq!(posted(&POSTING.replace("[%boxes+12]", "[%boxes+8]")), None);
        assert_eq!(posted(&POSTING.replace("[%boxes+12]", "[%boxes]")), None);
    }

    /// If the flags are clear, old values in the slots do not explain a wrong second run.
    #[test]
    fn values_that_stay_in_slots_are_not_an_error() {
        let constant = POSTING.replace("%sum;\n    atom", "33;\n    atom");
        assert_ne!(constant, POSTING);
        let wrong = posted(&constant.replace("[%boxes+12]", "[%boxes+8]")).expect("it gives 33");
        assert!(wrong.contains(" over the memory that the first run left"), "{wrong}");
        assert!(!wrong.contains("launch 2") && !wrong.contains("message flags"), "{wrong}");
        // A variable of the kernel's own is not a message slot.
        let own = constant
            .replace(".visible", ".global .align 4 .u32 counter;\n.visible")
            .replace("exch.b32 %x, [%boxes+12], 5", "add.u32 %x, [counter], 1");
        let wrong = posted(&own).expect("it gives 33");
        assert!(
            wrong.contains(" is 3 for the first atomic of launch 2, at PTX line 29"),
            "{wrong}"
        );
        let wrong = posted(&constant).expect("it gives 33, and a flag is set");
        assert!(wrong.contains("is 5 for the first atomic of launch 2, at PTX line 28"), "{wrong}");
    }
}
