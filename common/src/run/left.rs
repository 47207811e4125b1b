//! What a run leaves to the next one: tickets that are not reset, flags of mail that are left up.

use super::job::Job;
use crate::{
    Result,
    device::Address,
    plan::Scratch,
    sum::{Mismatch, Run, Verdict},
};

impl Job<'_> {
    /// Flags of mail that are left up, though the sums are right: the order in which the blocks ran
    /// hid that the next run takes old mail for its own.
    pub(super) fn flags_up(&self, verdict: Verdict) -> Result<Option<Box<Mismatch>>> {
        let mut changed = self.changed()?;
        changed.retain(|(kind, _)| matches!(kind, Scratch::Mail(_)));
        let Some(&(Scratch::Mail(count), first)) = changed.first() else { return Ok(None) };
        let mut wrong = Mismatch::of(self.step, &self.problem, Run::Mail, verdict, None);
        wrong.left = Some(format!(
            "{} of {} flags of its mailbox are up when it ends, that of box {first} first, and a later run would take this one's values for its own: take each flag down when its value is taken",
            changed.len(),
            count * self.problem.element.size() / 4
        ));
        Ok(Some(Box::new(wrong)))
    }

    /// What a run leaves to the next one, as a sentence: of a sum that is wrong in its second run.
    pub(super) fn left_behind(&self, input: Address<'_>) -> Result<Option<String>> {
        let found = self.left_as_found()?;
        // Two more runs, from the start, and this time their atomics are watched. What stops them is
        // no news.
        let findings = self.device.state_of(self.problem.n, || {
            self.start_anew()?;
            let calls = self.calls(input)?;
            (0..2).try_for_each(|_| self.launch(&calls))
        });
        // Old values may lie in boxes whose flags are down.
        let told = findings.iter().find(|finding| !found || !self.is_scratch(finding.address));
        Ok(match told {
            Some(finding) => Some(finding.sentence()),
            None if found => None,
            None => Some("it found its tickets or mail zero, and did not leave them so: let the last block set them back".into()),
        })
    }

    fn is_scratch(&self, address: u64) -> bool {
        self.scratch.iter().any(|memory| memory.address().numbers().contains(&address))
    }

    /// Scratch memory is as it was before the first run.
    fn start_anew(&self) -> Result<()> {
        for (memory, kind) in self.scratch.iter().zip(&self.plan.scratch) {
            match kind {
                Scratch::Zeroed(_) | Scratch::Mail(_) => self.device.fill(memory, 0)?,
                Scratch::Partials(_) => self.device.forget(memory)?,
            }
        }
        self.device.restart();
        Ok(())
    }

    /// Whether what runs find zero, they have left zero: counters, and the flags of mail.
    pub fn left_as_found(&self) -> Result<bool> {
        Ok(self.changed()?.is_empty())
    }

    /// The words of eight bytes that runs find zero and that are not, each as its buffer and number.
    fn changed(&self) -> Result<Vec<(Scratch, usize)>> {
        let mut changed = Vec::new();
        for (memory, &kind) in self.scratch.iter().zip(&self.plan.scratch) {
            // Of mail the value, which comes first, may stay.
            let (bytes, kept) = match kind {
                Scratch::Partials(_) => continue,
                Scratch::Zeroed(bytes) => (bytes, 0),
                Scratch::Mail(count) => (2 * count * self.problem.element.size(), 4),
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

    /// A kernel whose only thread adds all elements, and then stores to the second of three boxes.
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
        Plan { launches: vec![launch], scratch: vec![Scratch::Mail(3)] }
    });

    /// What is wrong with it, at 33 elements; none where it is verified.
    fn posted(text: &str) -> Option<String> {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let ptx = played::ptx(text);
        let problem = device.problem(33, Block::new(64).unwrap(), Element::I32);
        let job = Job::load(&device, &POSTS, &ptx, problem).unwrap();
        let workload = Workload::<i32>::new(&device, Input::Ones, 33, 1).unwrap();
        job.verify(&workload).unwrap().wrong.map(|wrong| wrong.to_string())
    }

    #[test]
    fn flags_that_are_left_up_are_told_though_the_sums_are_right() {
        assert_eq!(
            posted(POSTING).expect("a flag is up"),
            "posting is wrong, though its sums are right: 1 of 3 flags of its mailbox are up when \
             it ends, that of box 1 first, and a later run would take this one's values for its \
             own: take each flag down when its value is taken"
        );
        // The first flag, and the last of both.
        let first = posted(&POSTING.replace("[%boxes+12]", "[%boxes+4]")).expect("a flag is up");
        assert!(first.contains("that of box 0 first"), "{first}");
        let last = posted(&POSTING.replace("[%boxes+12]", "[%boxes+20]")).expect("a flag is up");
        assert!(last.contains("that of box 2 first"), "{last}");
        // The value may stay.
        assert_eq!(posted(&POSTING.replace("[%boxes+12]", "[%boxes+8]")), None);
        assert_eq!(posted(&POSTING.replace("[%boxes+12]", "[%boxes]")), None);
    }

    /// Old values in boxes whose flags are down are no reason for a wrong second run.
    #[test]
    fn values_that_stay_in_boxes_are_not_accused() {
        let constant = POSTING.replace("%sum;\n    atom", "33;\n    atom");
        assert_ne!(constant, POSTING);
        let wrong = posted(&constant.replace("[%boxes+12]", "[%boxes+8]")).expect("it gives 33");
        assert!(wrong.contains(" over the memory that the first run left"), "{wrong}");
        assert!(!wrong.contains("launch 2") && !wrong.contains("mail"), "{wrong}");
        // A variable of the kernel's own is nobody's mailbox.
        let own = constant
            .replace(".visible", ".global .align 4 .u32 counter;\n.visible")
            .replace("exch.b32 %x, [%boxes+12], 5", "add.u32 %x, [counter], 1");
        let wrong = posted(&own).expect("it gives 33");
        assert!(
            wrong.contains(" is 3 for the first atomic of launch 2, at PTX line 29"),
            "{wrong}"
        );
        let wrong = posted(&constant).expect("it gives 33, and a flag is up");
        assert!(wrong.contains("is 5 for the first atomic of launch 2, at PTX line 28"), "{wrong}");
    }
}
