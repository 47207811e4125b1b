use super::*;

/// A kernel that counts its launches in memory, at the address in its only parameter, and reads the
/// count.
const COUNTS: &str = "
.version 8.4
.target sm_60
.address_size 64
.visible .entry count(.param .u64 to)
{
    .reg .u64 %to;
    .reg .u32 %old;
    .reg .pred %p;
    ld.param.u64 %to, [to];
    atom.global.add.u32 %old, [%to], 1;
    setp.eq.u32 %p, %old, 0;
    @%p ret;
    ret;
}
";

fn counts() -> Ptx {
    let (source, origin, file) = (String::new(), String::new(), "count.ptx".into());
    Ptx { text: COUNTS.into(), source, origin, file }
}

fn call(memory: &Memory) -> Call<'_> {
    let args = vec![Value::Address(memory.address())];
    Call { entry: "count".into(), grid: 1, block: 1, cluster: 1, args, ..Call::default() }
}

#[test]
fn large_inputs_are_checked_only_on_request() {
    let checks = |n, asked: Option<Vec<Check>>| {
        let simt = Interpreter::new(&Settings { checks: asked, ..Settings::default() });
        simt.watch(n);
        simt.observed().checks
    };
    assert_eq!(
        [checks(0, None), checks(CHECKED, None)],
        [Check::ALL.to_vec(), Check::ALL.to_vec()]
    );
    assert_eq!(checks(CHECKED + 1, None), []);
    assert_eq!(checks(u64::MAX, Some(vec![Check::Sync])), [Check::Sync]);
    assert_eq!(checks(1, Some(Vec::new())), []);
}

#[test]
fn accesses_are_recorded_on_request() {
    for traced in [0, 1, 2] {
        let simt = Interpreter::new(&Settings { traced, ..Settings::default() });
        simt.watch(1);
        assert_eq!(simt.observed().trace.is_some(), traced > 0);
    }
}

#[test]
fn state_between_launches_is_examined_up_to_a_size() {
    let simt = Interpreter::new(&Settings::default());
    let program = simt.load(&counts()).unwrap();
    let memory = simt.alloc("tickets", 4).unwrap();
    let findings = |n| {
        simt.fill(&memory, 0).unwrap();
        simt.restart();
        let twice = || (0..2).try_for_each(|_| simt.launch(&program, &call(&memory)));
        simt.state_of(n, twice).len()
    };
    assert_eq!([findings(1), findings(CHECKED), findings(CHECKED + 1)], [1, 1, 0]);
}

#[test]
fn more_than_the_host_has_is_refused_with_both_sizes() {
    let simt = Interpreter::new(&Settings::default());
    let error = simt.alloc("the sums", u64::MAX - 1).unwrap_err();
    assert!(matches!(error, Error::Memory { place: "host", needed, .. } if needed == u64::MAX - 1));
}

/// A block of more than half the memory can be allocated again after it is freed, but not twice at
/// the same time.
#[test]
fn dropped_memory_is_free_again() {
    let mut config = simt::Config::default();
    config.memory = 1000;
    let simt = Interpreter::new(&Settings::default());
    simt.gpu.replace(simt::Gpu::with(config));
    for _ in 0..3 {
        let memory = simt.alloc("most of it", 600).unwrap();
        assert!(simt.alloc("the same again", 600).is_err());
        drop(memory);
    }
}

/// A cached module is reused only if both the PTX and the source are the same.
#[test]
fn a_module_is_cached_by_its_ptx_and_source() {
    let simt = Interpreter::new(&Settings::default());
    let load = |text: &str, source: &str| {
        let (text, source) = (text.to_owned(), source.to_owned());
        simt.load(&Ptx { text, source, ..counts() }).unwrap().module
    };
    let first = load(COUNTS, "a");
    assert!(Rc::ptr_eq(&first, &load(COUNTS, "a")));
    assert!(!Rc::ptr_eq(&first, &load(COUNTS, "b")));
    let again = load(COUNTS, "a");
    assert!(!Rc::ptr_eq(&again, &load(&format!("{COUNTS}\n"), "a")));
}

#[test]
fn checks_are_parsed_by_their_names() {
    let read = ["races", "memory", "sync"].map(|text| text.parse::<Check>().unwrap());
    assert_eq!(read, Check::ALL);
    let said = "all".parse::<Check>().unwrap_err().to_string();
    assert!(said.contains("`all` is not a check: use races, memory, sync or none"), "{said}");
}

/// For this workspace's own PTX, the error says that the interpreter cannot run it. For PTX from a
/// file, the error names the file.
#[test]
fn broken_ptx_is_blamed_on_the_right_place() {
    let simt = Interpreter::new(&Settings::default());
    let said = |source: &str| {
        let (text, source) = ("no PTX".to_owned(), source.to_owned());
        simt.load(&Ptx { text, source, ..counts() }).unwrap_err()
    };
    assert!(matches!(said(""), Error::BadPtx { file, .. } if file == "count.ptx"));
    assert!(
        matches!(said("a source"), Error::Simt { doing, .. } if doing == "interpreting count.ptx")
    );
}
