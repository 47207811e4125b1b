//! Passes a value and its flag from one thread to another with accesses of every kind, size, fence
//! and scope. Each combination must be either correct or reported. The expected verdict follows
//! PTX's memory model, not the check.

use crate::common::{Device, launch};
use simt::observe::Fault;
use simt::{Arg, Module, Schedule};

const SCHEDULES: [Schedule; 3] = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(3)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Weak,
    Volatile,
    Relaxed,
    /// The access releases if it is a store, and acquires if it is a load.
    Ordered,
    Atomic,
}

const KINDS: [Kind; 5] = [Kind::Weak, Kind::Volatile, Kind::Relaxed, Kind::Ordered, Kind::Atomic];

/// One way to pass a value and a flag.
#[derive(Debug, Clone, Copy)]
struct Way {
    store: Kind,
    load: Kind,
    /// The width in bits of each store and each load: two 32-bit accesses, or one 64-bit access.
    stored: u32,
    loaded: u32,
    /// Whether the value is passed by weak accesses instead of accesses of the same kind as those
    /// to the flag.
    weak_value: bool,
    /// Fences after the value is stored, and before it is loaded.
    fences: [bool; 2],
    /// Whether fences and accesses have device scope.
    device: bool,
    /// Whether the two threads are in different blocks.
    apart: bool,
    shared: bool,
}

impl Way {
    fn scope(&self) -> &'static str {
        if self.device { "gpu" } else { "cta" }
    }

    fn store(&self, kind: Kind, bits: u32, at: u32, value: &str) -> String {
        let (space, scope) = (if self.shared { "shared" } else { "global" }, self.scope());
        let address = format!("[%rd1+{at}]");
        match kind {
            Kind::Weak => format!("st.{space}.b{bits} {address}, {value};\n"),
            Kind::Volatile => format!("st.volatile.{space}.b{bits} {address}, {value};\n"),
            Kind::Relaxed => format!("st.relaxed.{scope}.{space}.b{bits} {address}, {value};\n"),
            Kind::Ordered => format!("st.release.{scope}.{space}.b{bits} {address}, {value};\n"),
            Kind::Atomic => {
                let old = if bits == 64 { "%rd9" } else { "%r9" };
                format!("atom.relaxed.{scope}.{space}.exch.b{bits} {old}, {address}, {value};\n")
            }
        }
    }

    fn load(&self, kind: Kind, bits: u32, at: u32, to: &str) -> String {
        let (space, scope) = (if self.shared { "shared" } else { "global" }, self.scope());
        let address = format!("[%rd1+{at}]");
        match kind {
            Kind::Weak => format!("ld.{space}.b{bits} {to}, {address};\n"),
            Kind::Volatile => format!("ld.volatile.{space}.b{bits} {to}, {address};\n"),
            Kind::Relaxed => format!("ld.relaxed.{scope}.{space}.b{bits} {to}, {address};\n"),
            Kind::Ordered => format!("ld.acquire.{scope}.{space}.b{bits} {to}, {address};\n"),
            Kind::Atomic => {
                format!("atom.relaxed.{scope}.{space}.or.b{bits} {to}, {address}, 0;\n")
            }
        }
    }

    fn module(&self) -> Module {
        let fence = |there: bool| {
            if there { format!("fence.acq_rel.{};\n", self.scope()) } else { String::new() }
        };
        let value = |kind| if self.weak_value { Kind::Weak } else { kind };
        let send = match self.stored {
            64 => self.store(self.store, 64, 0, "%rd3"),
            _ => {
                self.store(value(self.store), 32, 0, "%r3")
                    + &fence(self.fences[0])
                    + &self.store(self.store, 32, 4, "1")
            }
        };
        // A weak load must not poll, so it reads only once.
        let again = if self.load == Kind::Weak { "" } else { "@%p2 bra AGAIN;\n" };
        let receive = match self.loaded {
            64 => {
                self.load(self.load, 64, 0, "%rd4")
                    + "shr.u64 %rd5, %rd4, 32;\nsetp.eq.u64 %p2, %rd5, 0;\n"
                    + again
                    + "st.global.b64 [%rd8+8], %rd4;\n"
            }
            _ => {
                self.load(self.load, 32, 4, "%r4")
                    + "setp.eq.u32 %p2, %r4, 0;\n"
                    + again
                    + &fence(self.fences[1])
                    + &self.load(value(self.load), 32, 0, "%r5")
                    + "st.global.b32 [%rd8+8], %r5;\n"
            }
        };
        let (place, who) = match (self.shared, self.apart) {
            (true, _) => ("mov.u64 %rd1, room;\n", "%tid.x"),
            (_, false) => ("", "%tid.x"),
            _ => ("", "%ctaid.x"),
        };
        let clear = if self.shared {
            "setp.ne.u32 %p3, %r1, 0;\n@%p3 bra MET;\nst.shared.b64 [%rd1], 0;\nMET: bar.sync 0;\n"
        } else {
            ""
        };
        let text = format!(
            ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry pass(.param .u64 p)\n{{\n\
             .shared .align 8 .b8 room[8];\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n\
             ld.param.u64 %rd1, [p];\nmov.u64 %rd8, %rd1;\n{place}mov.u32 %r1, %tid.x;\nmov.u32 %r2, {who};\n\
             mov.u32 %r3, 7;\nmov.u64 %rd3, 0x100000007;\n{clear}\
             setp.eq.u32 %p1, %r2, 0;\n@%p1 bra SEND;\nsetp.ne.u32 %p1, %r2, {other};\n@%p1 ret;\n\
             AGAIN:\n{receive}ret;\nSEND:\n{send}ret;\n}}\n",
            other = if self.apart { 1 } else { 32 },
        );
        Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Returns the findings that PTX's memory model requires, and `UnorderedVolatile` for volatile
    /// values that nothing orders.
    fn expected(&self) -> Vec<Fault> {
        let strong = |kind: Kind| kind != Kind::Weak;
        let wide = self.device || !self.apart;
        // Volatile accesses have system scope.
        let reaches = |kind: Kind| wide || kind == Kind::Volatile;
        let atomic = |a: Kind, b: Kind| strong(a) && strong(b) && reaches(a) && reaches(b);
        let pair = |a: Kind, b: Kind| match (a, b) {
            (Kind::Volatile, Kind::Volatile) => vec![Fault::UnorderedVolatile],
            _ if atomic(a, b) => vec![],
            _ => vec![Fault::DataRace],
        };
        if self.stored != self.loaded {
            return vec![Fault::DataRace];
        }
        if self.stored == 64 {
            // A polled volatile word may have the value and its flag.
            return match (self.store, self.load) {
                (Kind::Volatile, Kind::Volatile) => vec![],
                (store, load) => pair(store, load),
            };
        }
        let releases = self.store == Kind::Ordered || self.fences[0];
        let acquires = self.load == Kind::Ordered || self.fences[1];
        let ordered = releases && acquires && wide && atomic(self.store, self.load);
        let mut found = vec![];
        // A volatile flag may be polled.
        if (self.store, self.load) != (Kind::Volatile, Kind::Volatile) {
            found.extend(pair(self.store, self.load));
        }
        if !ordered {
            let value = |kind| if self.weak_value { Kind::Weak } else { kind };
            found.extend(pair(value(self.store), value(self.load)));
        }
        found.sort();
        found.dedup();
        found
    }

    fn found(&self, module: &Module, schedule: Schedule) -> (Vec<Fault>, String) {
        let mut device = Device::new(schedule);
        let data = device.put(&[0; 16]);
        let (grid, block) = if self.apart { (2, 1) } else { (1, 64) };
        device.launch(module, &launch("pass", grid, block, 0, vec![Arg::U64(data)])).unwrap();
        let mut faults: Vec<Fault> = device.findings().iter().map(|f| f.fault).collect();
        faults.sort();
        faults.dedup();
        (faults, device.said())
    }
}

fn ways() -> Vec<Way> {
    let mut ways = vec![];
    for (store, load) in KINDS.iter().flat_map(|s| KINDS.iter().map(move |l| (*s, *l))) {
        for (stored, loaded) in [(32, 32), (32, 64), (64, 32), (64, 64)] {
            for (apart, shared, device) in [
                (true, false, true),
                (true, false, false),
                (false, false, true),
                (false, false, false),
                (false, true, false),
            ] {
                for fences in [[false, false], [true, false], [false, true], [true, true]] {
                    for weak_value in [false, true] {
                        // Fences and separate weak accesses for the value make sense only if the
                        // value and the flag are accessed separately.
                        let fits = |bits: u32, fence: bool| bits == 32 || !fence;
                        let two = stored == 32 && loaded == 32;
                        if fits(stored, fences[0])
                            && fits(loaded, fences[1])
                            && (two || !weak_value)
                        {
                            ways.push(Way {
                                store,
                                load,
                                stored,
                                loaded,
                                weak_value,
                                fences,
                                device,
                                apart,
                                shared,
                            });
                        }
                    }
                }
            }
        }
    }
    ways
}

#[test]
fn every_way_to_pass_a_value_is_right_or_found() {
    let (ways, mut wrong) = (ways(), vec![]);
    for way in &ways {
        let module = way.module();
        for schedule in SCHEDULES {
            let (found, said) = way.found(&module, schedule);
            if found != way.expected() {
                wrong.push(format!(
                    "{way:?}, {schedule}: {found:?} for {:?}\n{said}",
                    way.expected()
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} are wrong, such as {}",
        wrong.len(),
        ways.len(),
        wrong.iter().take(8).cloned().collect::<Vec<_>>().join("\n")
    );
    assert!(ways.len() > 1000, "{}", ways.len());
}

/// The finding names both accesses, their sizes and the remedy.
#[test]
fn a_pair_of_different_sizes_is_told_of_its_sizes() {
    let way = Way {
        store: Kind::Volatile,
        load: Kind::Atomic,
        stored: 32,
        loaded: 64,
        weak_value: false,
        fences: [false; 2],
        device: true,
        apart: true,
        shared: false,
    };
    let (faults, said) = way.found(&way.module(), Schedule::Converged);
    assert_eq!(faults, [Fault::DataRace], "{said}");
    assert!(
        said.contains("only accesses to the same bytes are atomic with respect to each other"),
        "{said}"
    );
}
