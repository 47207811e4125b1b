//! Finds state that a run leaves for the next one, such as tickets or message flags that are not
//! reset.

use simt::observe::Finding;

use super::job::Job;
use crate::{
    Result,
    device::{Address, Device, Program},
    plan::{Arg, Buffer, Call, Plan, Problem, Scratch},
    sum::{Elements, Mismatch, Run, Scalar, Verdict, Workload},
};

/// The numbers of elements in the third run, of which one is chosen. Large tiles need many elements
/// for several blocks.
const SMALLER: [u64; 5] = [5003, 20_011, 40_009, 80_021, 160_001];

const RESET: &str = "let the last block that uses it reset it to 0";

impl Job<'_> {
    /// Returns an error if the run left message flags set or zeroed memory changed, although its
    /// sums are correct. A later run would mistake the old messages for its own, or, with another
    /// grid, would start from the old values.
    pub(super) fn left_behind(
        &self,
        verdict: Verdict,
        input: Address<'_>,
    ) -> Result<Option<Box<Mismatch>>> {
        let mut changed = self.changed()?;
        let leftover = match changed.first() {
            None => return Ok(None),
            Some(&(Scratch::Messages(count), _, first)) => {
                changed.retain(|(kind, ..)| matches!(kind, Scratch::Messages(_)));
                format!(
                    "{} of {} message flags are still set when it ends (the first is in slot {first}), and a later run would mistake this run's values for its own: clear each flag when its value is consumed",
                    changed.len(),
                    count * self.problem.element.size() / 4
                )
            }
            Some(&(_, buffer, word)) => {
                let name = self.name(buffer);
                let end = self.plan.scratch_bytes(buffer, self.problem.element);
                let bytes = format!("{} to {}", 8 * word, (8 * word as u64 + 8).min(end) - 1);
                let cure = self.state(input).into_iter().find(|finding| {
                    self.scratch[buffer].address().numbers().contains(&finding.address)
                });
                format!(
                    "{name} was zero when it began but not when it ended (the first change is in bytes {bytes}), and a later run, which may have another grid, would start from these values: {}",
                    cure.map_or_else(|| RESET.into(), |finding| finding.sentence())
                )
            }
        };
        let mut wrong = Mismatch::of(self.step, &self.problem, Run::Messages, verdict, None);
        wrong.leftover = Some(leftover);
        Ok(Some(Box::new(wrong)))
    }

    /// Names a scratch buffer like the kernel's parameter, if that is known.
    fn name(&self, buffer: usize) -> String {
        let passed = |arg: &Arg| *arg == Arg::Address(Buffer::Scratch(buffer));
        let at = self
            .plan
            .launches
            .iter()
            .find_map(|launch| Some((&launch.entry, launch.args.iter().position(passed)?)));
        let name = at.and_then(|(entry, at)| match &*self.program {
            Program::Simt(program) => program.parameter(entry, at),
            _ => None,
        });
        name.map_or_else(|| "its zeroed memory".into(), |name| format!("`{name}`"))
    }

    /// Performs the third run, which adds fewer of the exact elements and therefore has another
    /// grid. The program stays loaded, so that the run also detects values that earlier runs left
    /// in the kernel's own variables.
    ///
    /// If the sum is wrong even after the program is loaded again, those variables are not the
    /// cause, and the run reports nothing. Only the interpreter can load a program again.
    pub(super) fn verify_smaller<T: Scalar>(
        &self,
        workload: &Workload<T>,
    ) -> Result<Option<Box<Mismatch>>> {
        let n = self.smaller();
        let (Device::Simt(simt), Program::Simt(program), 1..) = (self.device, &*self.program, n)
        else {
            return Ok(None);
        };
        let problem = Problem { n, ..self.problem };
        let smaller = || {
            let job = Job::with_program(self.device, self.step, &self.program, problem)?;
            job.forget()?;
            job.launch(&job.calls(workload.warm())?).map_err(|error| error.in_smaller_run(n))?;
            let elements = Elements::<T>::exact(n);
            let checked = job.hold(elements, elements.total(), Run::Smaller(self.problem.n))?;
            match checked.wrong {
                None => job.left_behind(checked.verdict, workload.warm()),
                wrong => Ok(wrong),
            }
        };
        let third = smaller();
        if matches!(third, Ok(None)) {
            return third;
        }
        simt.renew(program)?;
        if matches!(smaller(), Ok(None)) { third } else { Ok(None) }
    }

    /// Returns the number of elements in the third run. The number of blocks is not 1 and does not
    /// divide that of the second run, if possible, so a counter that is taken modulo the number of
    /// blocks has the wrong value.
    fn smaller(&self) -> u64 {
        let grid = |plan: &Plan| plan.launches.first().map_or(1, |launch| launch.grid);
        let half = self.problem.n / 2;
        let other = |n: &u64| {
            let few = grid(&(self.step.plan)(&Problem { n: *n, ..self.problem }));
            few > 1 && grid(&self.plan) % few != 0
        };
        let chosen = SMALLER.into_iter().filter(|n| *n <= half).find(other);
        chosen.unwrap_or(half.min(SMALLER[0]))
    }

    /// For a sum that is wrong in its first run, says whether a launch reads what an earlier launch of
    /// the run left in the kernel's own variables. Only the interpreter can reset them between
    /// launches.
    pub(super) fn stale<T: Scalar>(&self, workload: &Workload<T>) -> Result<Option<String>> {
        let (Device::Simt(simt), Program::Simt(program), 2..) =
            (self.device, &*self.program, self.plan.launches.len())
        else {
            return Ok(None);
        };
        let right = || {
            self.forget()?;
            self.start_anew()?;
            let calls = self.calls(workload.warm())?;
            for call in &calls {
                simt.renew(program)?;
                self.device.launch(&self.program, call)?;
            }
            let checked = self.hold(workload.elements(), workload.reference, Run::First)?;
            Ok::<_, crate::Error>(checked.wrong.is_none())
        };
        // An error that stops these launches has another cause.
        let right = self.device.unwatched(right).unwrap_or(false);
        Ok(right.then(|| {
            "a launch reads what an earlier launch left in the kernel's own variables (`__device__`), because the sum is right if they are reset before each launch: let each launch write such a variable before it reads it"
                .into()
        }))
    }

    /// For a sum that is wrong in its second run, describes the state that a run leaves for the
    /// next one.
    pub(super) fn leftover(&self, input: Address<'_>) -> Result<Option<String>> {
        let changed = self.changed()?;
        let empty = self.slots_are_empty()?;
        let findings = self.state(input);
        // Slots whose flags are clear may keep old values.
        let reset = changed.is_empty();
        let told = findings.iter().find(|finding| !reset || !self.is_scratch(finding.address));
        Ok(match (told, changed.first()) {
            (Some(finding), _) => Some(finding.sentence()),
            // The low halves of slots may keep the values of earlier messages.
            (None, None)
                if !empty
                    && self.plan.scratch.iter().any(|s| matches!(s, Scratch::Messages(_))) =>
            {
                Some("a slot keeps the value of the last run's message, so store a whole message, and test only its flag".into())
            }
            (None, None) => None,
            (None, Some((Scratch::Messages(_), ..))) => Some(
                "its message flags were zero when it began but not when it ended: clear each flag when its value is consumed, and test only the flag of a slot, because its other bits may be those of an earlier message".into(),
            ),
            (None, Some(&(_, buffer, _))) => Some(format!(
                "{} was zero when it began but not when it ended: {RESET}",
                self.name(buffer)
            )),
        })
    }

    /// Finds state that a run leaves for the next one, in two more runs from the initial state. An
    /// error that stops these runs has already been found.
    fn state(&self, input: Address<'_>) -> Vec<Finding> {
        self.device.state_of(self.problem.n, || {
            self.start_anew()?;
            let calls = self.calls(input)?;
            (0..2).try_for_each(|_| self.launch(&calls))
        })
    }

    fn is_scratch(&self, address: u64) -> bool {
        self.scratch.iter().any(|memory| memory.address().numbers().contains(&address))
    }

    /// Returns whether these launches fail as a first run. Only the interpreter can load a program
    /// again, and on a GPU, no launch works after an error.
    pub(super) fn fails_from_the_start(&self, calls: &[Call<'_>]) -> Result<bool> {
        if !matches!(self.device, Device::Simt(_)) {
            return Ok(false);
        }
        self.start_anew()?;
        Ok(self.launch(calls).is_err())
    }

    /// Restores the scratch memory and the kernel's own variables to their state before the first
    /// run.
    fn start_anew(&self) -> Result<()> {
        if let (Device::Simt(simt), Program::Simt(program)) = (self.device, &*self.program) {
            simt.renew(program)?;
        }
        for (memory, kind) in self.scratch.iter().zip(&self.plan.scratch) {
            match kind {
                Scratch::Zeroed(_) | Scratch::Messages(_) => self.device.fill(memory, 0)?,
                Scratch::Partials(_) => self.device.poison(memory)?,
            }
        }
        self.device.restart();
        Ok(())
    }

    /// Returns whether the run reset the state that every run expects to be zero, which consists of
    /// counters and message flags.
    pub fn state_is_reset(&self) -> Result<bool> {
        Ok(self.changed()?.is_empty())
    }

    /// Returns the eight-byte words that should be zero but are not. Each word has the kind and the
    /// index of its buffer, and its own index.
    fn changed(&self) -> Result<Vec<(Scratch, usize, usize)>> {
        let mut changed = Vec::new();
        let buffers = self.scratch.iter().zip(&self.plan.scratch);
        for (buffer, (memory, &kind)) in buffers.enumerate() {
            // The lower half of a slot, which holds the message's value, need not be zero.
            let (bytes, kept) = match kind {
                Scratch::Partials(_) => continue,
                Scratch::Zeroed(bytes) => (bytes, 0),
                Scratch::Messages(count) => (2 * count * self.problem.element.size(), 4),
            };
            let mut found = vec![0; bytes as usize];
            self.device.read(memory, &mut found)?;
            for (number, word) in found.chunks(8).enumerate() {
                if word[kept..].iter().any(|&byte| byte != 0) {
                    changed.push((kind, buffer, number));
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
        device::{Choice, Settings},
        plan::{Arg, Block, Buffer, Holds, Plan, Stage},
        run::played,
        sum::Input,
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

    static POSTS: Step =
        played::step("posting", |problem| with_scratch(problem, Scratch::Messages(3)));
    static COUNTS: Step =
        played::step("counting", |problem| with_scratch(problem, Scratch::Zeroed(24)));

    fn with_scratch(problem: &Problem, scratch: Scratch) -> Plan {
        let args = vec![
            Arg::Address(Buffer::Input),
            Arg::Address(Buffer::Result),
            Arg::U64(problem.n),
            Arg::Address(Buffer::Scratch(0)),
        ];
        let stages = vec![Stage { sums: Buffer::Result, holds: Holds::ALL, depth: 1 }];
        let launch = played::launch(problem, 1, args, stages);
        Plan { launches: vec![launch], scratch: vec![scratch] }
    }

    /// Returns the kernel's error on 33 elements; `None` if the kernel is verified.
    fn posted(text: &str) -> Option<String> {
        left(&POSTS, text)
    }

    fn left(step: &Step, text: &str) -> Option<String> {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let ptx = played::ptx(text);
        let problem = device.problem(33, Block::new(64).unwrap(), Element::I32);
        let job = Job::load(&device, step, &ptx, problem).unwrap();
        let workload = Workload::<i32>::new(&device, Input::Ones, 33, 1).unwrap();
        job.verify(&workload).unwrap().wrong.map(|wrong| wrong.to_string())
    }

    #[test]
    fn set_flags_are_an_error_even_if_the_sums_are_right() {
        assert_eq!(
            posted(POSTING).expect("a flag is set"),
            "posting is wrong, although its sums are right: 1 of 3 message flags are still set when it \
             ends (the first is in slot 1), and a later run would mistake this run's values for \
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

    static MAILS: Step = played::step("mailing", |problem| {
        let mut plan = with_scratch(problem, Scratch::Messages(3));
        let thirds = Holds::Chunks { each: problem.n.div_ceil(3), count: 3 };
        plan.launches[0]
            .stages
            .insert(0, Stage { sums: Buffer::Scratch(0), holds: thirds, depth: 1 });
        plan
    });

    /// A consumer may clear a whole slot, not only its flag. Then no partial sums are left to check.
    #[test]
    fn slots_that_are_cleared_entirely_are_not_wrong_partial_sums() {
        assert_eq!(left(&MAILS, &POSTING.replace("[%boxes+12], 5", "[%boxes+12], 0")), None);
        // A value in any of the slots is a partial sum, and is checked.
        let kept =
            left(&MAILS, &POSTING.replace("[%boxes+12]", "[%boxes+8]")).expect("5 is not 11");
        assert!(kept.contains("partial sums do not match the plan"), "{kept}");
        // The total is checked in any case.
        let none = POSTING.replace("[%boxes+12], 5", "[%boxes+12], 0");
        let none = none.replace("[%out], %sum", "[%out], 7");
        assert!(left(&MAILS, &none).expect("7 is not 33").contains("gave 7"), "{none}");
    }

    /// A consumer may clear a whole slot, so 0 in a slot is no value of the run before.
    #[test]
    fn slots_that_are_cleared_entirely_are_not_old() {
        let text = POSTING.replace("[%boxes+12], 5", "[%boxes+12], 0");
        let wrong = left(&MAILS, &text.replace("%sum, %sum, %x", "%sum, %sum, 1"));
        let wrong = wrong.expect("it counts the elements");
        assert!(wrong.contains("wrong in its second run"), "{wrong}");
        assert!(wrong.contains("in slot 0, which holds 0, so it was cleared or never"), "{wrong}");
        assert!(!wrong.contains("the run before") && !wrong.contains("a slot keeps"), "{wrong}");
    }

    /// If the flags are clear, old values in the slots do not explain a wrong second run.
    #[test]
    fn values_that_stay_in_slots_are_not_an_error() {
        let constant = POSTING.replace("%sum;\n    atom", "33;\n    atom");
        assert_ne!(constant, POSTING);
        let wrong = posted(&constant.replace("[%boxes+12]", "[%boxes+8]")).expect("it gives 33");
        assert!(wrong.contains(" starts with the memory that the first run left"), "{wrong}");
        assert!(!wrong.contains("launch 2") && !wrong.contains("message flags"), "{wrong}");
        // A kernel's own variable is not a message slot.
        let own = constant
            .replace(".visible", ".global .align 4 .u32 counter;\n.visible")
            .replace("exch.b32 %x, [%boxes+12], 5", "add.u32 %x, [counter], 1");
        let wrong = posted(&own).expect("it gives 33");
        let own = "`counter` is 1 for the first atomic of launch 2, at PTX line 29";
        assert!(wrong.contains(own) && wrong.contains("but was 0 for that of launch 1"), "{wrong}");
        let wrong = posted(&constant).expect("it gives 33, and a flag is set");
        assert!(wrong.contains("is 5 for the first atomic of launch 2, at PTX line 28"), "{wrong}");
    }

    /// A kernel whose ticket is taken modulo the grid size and never reset gives correct sums until
    /// the grid changes.
    #[test]
    fn a_counter_that_is_not_reset_is_an_error_even_if_the_sums_are_right() {
        assert_eq!(
            left(&COUNTS, POSTING).expect("a counter is 5"),
            "counting is wrong, although its sums are right: `boxes` was zero when it began but not \
             when it ended (the first change is in bytes 8 to 15), and a later run, which may have \
             another grid, would start from these values: `boxes[3]` is 5 for the first atomic of \
             launch 2, at PTX line 28, but was 0 for that of launch 1: let the last block of a \
             launch reset it to 0, for example with `atomicExch`, which also returns the value"
        );
        assert_eq!(left(&COUNTS, &POSTING.replace("+12], 5", "+12], 0")), None);
        // A value that only stores change is named, too.
        let stores =
            POSTING.replace("atom.global.exch.b32 %x, [%boxes+12]", "st.global.u32 [%boxes+12]");
        let wrong = left(&COUNTS, &stores).expect("a word is 5");
        assert!(
            wrong.ends_with("these values: let the last block that uses it reset it to 0"),
            "{wrong}"
        );
    }

    /// The kernel's own variable is in no buffer of the plan.
    #[test]
    fn state_that_breaks_the_third_run_is_found() {
        let counted = |limit: u32| {
            let count = format!(
                "done:\n    atom.global.add.u32 %x, [counter], 1;\n    setp.ge.u32 %p, %x, {limit};\n    @%p add.u32 %sum, %sum, 1;"
            );
            let text = POSTING.replace("    atom.global.exch.b32 %x, [%boxes+12], 5;\n", "");
            let text = text.replace("done:", &count);
            posted(&text.replace(".visible", ".global .align 4 .u32 counter;\n.visible"))
        };
        let wrong = counted(2).expect("its third run adds one");
        assert!(wrong.contains("though its runs on 33 elements were right"), "{wrong}");
        assert!(wrong.contains("the sum of 16 i32"), "{wrong}");
        assert!(counted(1).expect("its second run adds one").contains("the first run left"));
        assert_eq!(counted(3), None);
    }
}
