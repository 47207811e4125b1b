//! Tests how PTX that cannot be run is refused. If possible, only the entry in question is refused,
//! and the message names an alternative.

use crate::common::{Device, launch, module};
use simt::{Module, Schedule};

/// An unsupported call makes only the entry that contains it unusable.
#[test]
fn a_call_that_cannot_be_run_refuses_its_entry_alone() {
    let module = module("tests/faults/heap.ptx");
    assert_eq!(module.entries().collect::<Vec<_>>(), ["fine"]);
    assert_eq!(module.refused().map(|(name, _)| name).collect::<Vec<_>>(), ["reduce"]);
    let launch = launch("reduce", 1, 32, 0, vec![]);
    let error = Device::new(Schedule::Converged).launch(&module, &launch).unwrap_err();
    assert_eq!(
        error.to_string(),
        "entry `reduce` cannot be run: PTX line 46, column 2: the call to `malloc` at source line \
         3 cannot be run: there is no device heap; pass the kernel a buffer from the host instead; PTX line 63, column 2: the call to `free` at source line 6 cannot be run: \
         there is no device heap; pass the kernel a buffer from the host instead"
    );
}

/// An unknown instruction, an invalid statement or a directive makes only its own entry unusable.
#[test]
fn unsupported_ptx_refuses_its_entry_alone() {
    for bad in ["tcgen05.mma.sync %r1;", "mov.u32 %r1 %r1;", ".branchtargets a, b;"] {
        let text = format!(
            ".version 8.4\n.target sm_60\n.address_size 64\n\
             .visible .entry bad()\n{{\n.reg .b32 %r<2>;\n{bad}\nret;\n}}\n\
             .visible .entry fine()\n{{\nret;\n}}\n"
        );
        let module = Module::parse(&text).unwrap();
        assert_eq!(module.entries().collect::<Vec<_>>(), ["fine"], "{bad}");
        let [(name, errors)] = module.refused().collect::<Vec<_>>()[..] else { panic!("{bad}") };
        assert_eq!((name, errors.len(), errors[0].line), ("bad", 1, 7), "{bad}: {errors:?}");
        let mut device = Device::new(Schedule::Converged);
        assert!(device.launch(&module, &launch("fine", 1, 1, 0, vec![])).is_ok());
        let error = device.launch(&module, &launch("bad", 1, 1, 0, vec![])).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("entry `bad` cannot be run: PTX line 7, column "), "{error}");
    }
}

fn refusal(body: &str) -> String {
    let text = format!(
        ".version 8.4\n.target sm_60\n.address_size 64\n{body}\n\
         .visible .entry fine() {{ ret; }}\n"
    );
    let missing = Module::missing(&text);
    missing.iter().map(|e| format!("{e}\n")).collect()
}

#[test]
fn a_function_that_calls_itself_is_refused() {
    let said = refusal(
        ".func again() { call again; ret; }\n.func other() { call.uni again, (); ret; }\n\
         .entry test() { call other; ret; }",
    );
    assert!(
        said.contains("the call to `again` cannot be run: the function calls itself"),
        "{said}"
    );
}

/// The message names cooperative launches, if the PTX calls their functions or reads their
/// registers.
#[test]
fn a_cooperative_launch_is_named() {
    let said = refusal(
        ".extern .func (.param .b64 out) cudaCGGetIntrinsicHandle(.param .b32 which);\n\
         .entry test() { .param .b64 out;\n.param .b32 which;\n\
         call (out), cudaCGGetIntrinsicHandle, (which);\nret; }",
    );
    assert!(
        said.contains(
            "the call to `cudaCGGetIntrinsicHandle` cannot be run: cooperative launches are not supported; launch one kernel for each phase instead"
        ),
        "{said}"
    );
    let said = refusal(".entry test() { .reg .b32 %r<2>;\nmov.u32 %r1, %envreg2;\nret; }");
    assert_eq!(
        said,
        "PTX line 5, column 1: `mov.u32` reads `%envreg2`, which the driver sets for a cooperative launch (`this_grid()`): cooperative launches are not supported; launch one kernel for \
         each phase instead\n"
    );
}

#[test]
fn a_pointer_to_a_function_is_refused() {
    let said = refusal(
        ".func f() { ret; }\n.entry test() { .reg .b64 %rd<2>;\nmov.u64 %rd1, 0;\n\
         call %rd1, (), proto;\nproto: .callprototype ()_ ();\nret; }",
    );
    assert!(said.contains("a call through a function pointer cannot be run"), "{said}");
    let said = refusal(".entry test() { .reg .b64 %rd<2>;\ncall %rd1;\nret; }");
    assert!(said.contains("function pointers are not supported"), "{said}");
}

#[test]
fn a_function_takes_what_it_says() {
    let said = refusal(".func f(.param .b32 a) { ret; }\n.entry test() { call f; ret; }");
    assert!(said.contains("the call to `f` passes 0 values, but the function takes 1"), "{said}");
}

/// An argument in a register must have the type of its parameter. The parameters of an entry are
/// never registers.
#[test]
fn a_register_argument_has_its_type() {
    let given = |argument: &str| {
        refusal(&format!(
            ".func (.reg .u32 r) f(.reg .u32 a) {{ mov.u32 r, a; }}\n\
             .entry test() {{ .reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n\
             call (%r1), f, ({argument});\nret; }}"
        ))
    };
    assert_eq!(given("%r1") + &given("7"), "");
    let said = given("%rd1");
    assert!(
        said.contains("the call to `f`: an operand needs 32 bits, but register `%rd1` has 64"),
        "{said}"
    );
    let said = text_error(".version 8.4\n.target sm_60\n.entry e(.reg .u32 a) { ret; }\n");
    assert_eq!(said, "PTX line 3, column 10: expected `.param`, found `.reg`");
}

/// An argument must have the size of its parameter.
#[test]
fn an_argument_has_its_bytes() {
    let said = refusal(
        ".extern .func vprintf(.param .b64 a, .param .b64 b);\n\
         .entry test() { .param .b32 a;\n.param .b64 b;\ncall vprintf, (a, b);\nret; }",
    );
    assert!(said.contains("`a` has 4 bytes, but the parameter has 8"), "{said}");
}

/// If each of thirty functions calls the next one twice, the limit is reported without delay.
#[test]
fn calls_do_not_grow_without_bound() {
    let mut text = String::from(".func f30() { ret; }\n");
    for i in (0..30).rev() {
        text += &format!(".func f{i}() {{ call f{}; call f{}; ret; }}\n", i + 1, i + 1);
    }
    let said = refusal(&format!("{text}.entry test() {{ call f0; ret; }}"));
    assert!(said.contains("more than 262144 instructions, including its calls"), "{said}");
}

fn text_error(text: &str) -> String {
    Module::parse(text).unwrap_err().to_string()
}

#[test]
fn two_of_one_name_are_refused() {
    let head = ".version 8.4\n.target sm_60\n.address_size 64\n";
    assert_eq!(
        text_error(&format!("{head}.entry reduce() {{ ret; }}\n.entry reduce() {{ ret; }}\n")),
        "PTX line 5, column 8: entry `reduce` is defined twice, first on line 4: rename one of them"
    );
    assert_eq!(
        text_error(&format!("{head}.func f() {{ ret; }}\n.func f() {{ ret; }}\n")),
        "PTX line 5, column 7: function `f` is defined twice, first on line 4: rename one of them"
    );
    // Declaring and then defining a function is allowed.
    let twice =
        format!("{head}.func f();\n.func f() {{ ret; }}\n.func f();\n.entry e() {{ call f; }}");
    assert!(Module::parse(&twice).is_ok());
}

/// Variables that bodies declare share the module's namespace, and an initial value can be the
/// address of such a variable.
#[test]
fn variables_of_bodies_have_one_name() {
    let head = ".version 8.4\n.target sm_60\n.address_size 64\n";
    let body = "{ .global .u32 x;\nret; }";
    assert_eq!(
        text_error(&format!("{head}.entry a() {body}\n.entry b() {body}\n")),
        "PTX line 6, column 27: variable `x` is defined twice, first on line 4: rename one of them"
    );
    assert_eq!(
        text_error(&format!("{head}.global .u64 p = f;\n.entry f() {{ ret; }}\n")),
        "PTX line 4, column 14: `f` is a function, and this interpreter does not support the address of a function as an initial value: call functions by their names, for example in a `switch`"
    );
    let said = text_error(&format!(
        "{head}.func f() {{ ret; }}\n.const .u64 p[1] = {{f}};\n.entry e() {{ ret; }}\n"
    ));
    assert!(said.contains("`f` is a function, and this interpreter"), "{said}");
    assert_eq!(
        text_error(&format!("{head}.global .u64 p = g;\n.entry f() {{ ret; }}\n")),
        "PTX line 4, column 14: `g` is not a global variable: only the address of a global variable can be an initial value"
    );
    let said = text_error(&format!("{head}.global .u32 p = p;\n.entry f() {{ ret; }}\n"));
    assert!(
        said.contains("a number, or a variable's name in an 8-byte element, found `p`"),
        "{said}"
    );
}

#[test]
fn unknown_versions_and_targets_are_refused() {
    assert_eq!(
        text_error(".version 99.9\n.target sm_60\n"),
        "PTX line 1, column 10: PTX version 99.9 is not supported, but versions up to 9.x are: \
         compile with a toolkit that emits one of these"
    );
    for target in ["sm_999", "sm_91", "compute_60", "sm_"] {
        assert_eq!(
            text_error(&format!(".version 8.4\n.target {target}\n")),
            format!(
                "PTX line 2, column 9: the target `{target}` is not supported, but sm_10 to sm_121 are: compile for one of these"
            )
        );
    }
    for target in ["sm_60", "sm_90a", "sm_120f", "sm_75, debug"] {
        assert!(Module::parse(&format!(".version 8.4\n.target {target}\n")).is_ok(), "{target}");
    }
}

/// NVRTC copies inline assembly to PTX of any target, but a GPU's driver refuses it.
#[test]
fn an_instruction_that_the_target_lacks_is_refused() {
    let said = |target: u32| {
        let text = format!(
            ".version 8.4\n.target sm_{target}\n.address_size 64\n.visible .entry test()\n{{\n\
             .reg .b32 %r<3>;\nmov.u32 %r1, 1;\nredux.sync.add.u32 %r2, %r1, -1;\nret;\n}}\n"
        );
        Module::parse(&text).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(said(80), "");
    let old = said(60);
    assert!(old.contains("`redux.sync.add.u32` exists from sm_80 on"), "{old}");
    assert!(old.contains("write `// Needs compute_80: why.`"), "{old}");
}
