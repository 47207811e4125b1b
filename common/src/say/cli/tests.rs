use super::*;
use crate::{
    Kernel,
    device::{Choice, Settings},
    plan::{Phase, Plan},
};

/// A step in which each block adds as many elements as the device has multiprocessors.
static STEP: Step = Step {
    name: "by-sms",
    cures: "",
    costs: "",
    kernel: Kernel { path: "", source: "", includes: &[], ptx: ["", "", ""] },
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: false,
    plan: |problem| {
        let tile = u64::from(problem.chip.sms);
        let entry = "reduce".into();
        Plan::until_one(problem, &Phase { entry, tile, shared: 0, depth: 1 })
    },
    variants: &[],
};

/// Returns two steps for the newest GPU. One of them uses clusters that are too large for any GPU.
fn young() -> [&'static Step; 2] {
    const SOURCE: &str = "// By hand.\n";
    let ptx = ".version 8.4\n.target sm_120\n.address_size 64\n.visible .entry \
               reduce(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n    ret;\n}\n";
    let ptx: &str = compiler::Stamp::put(ptx, SOURCE, "by hand").leak();
    let young = Step {
        name: "young",
        kernel: Kernel { source: SOURCE, ptx: [ptx, ptx, ptx], ..STEP.kernel },
        variants: &[],
        ..STEP
    };
    let plan = |problem: &Problem| {
        let mut plan = (STEP.plan)(problem);
        plan.launches.iter_mut().for_each(|launch| launch.cluster = 32);
        plan
    };
    let clustered = Step { name: "clustered", plan, ..young };
    [Box::leak(Box::new(young)), Box::leak(Box::new(clustered))]
}

fn ran(steps: &[&'static Step], gpu: &str) -> Result<Vec<String>, String> {
    let arguments = ["many", "--n", "0", "--device", "simt", "--gpu", gpu];
    let matches = Program::command().try_get_matches_from(arguments).unwrap();
    let Program { options } = Program::from_arg_matches(&matches).unwrap();
    let device = Device::open(Choice::Simt, &options.settings()).unwrap();
    let mut refused = Vec::new();
    let result = each(steps, &options, &device, &mut |_, refusals, _| {
        refused.extend(refusals.iter().map(|refusal| refusal.needs.clone()));
        Ok(())
    });
    match result {
        Ok(()) => Ok(refused),
        Err(Stop::Error(error)) => Err(format!("{} {error}", error.exit_code())),
        Err(Stop::Closed) => unreachable!("nothing is printed"),
    }
}

#[test]
fn if_no_step_can_run_the_reasons_are_printed() {
    let [young, clustered] = young();
    let said = ran(&[young, clustered], "sm_90").unwrap_err();
    let start = "2 none of these steps runs here: young: the kernel is built for sm_120, but this GPU is sm_90";
    assert!(said.starts_with(start), "{said}");
    let said = ran(&[clustered, clustered], "sm_120").unwrap_err();
    let part =
        "clustered: `reduce` needs clusters of 32 blocks, but this GPU has clusters of at most 8";
    assert_eq!(said.matches(part).count(), 2, "{said}");
}

#[test]
fn explain_plans_for_the_device_s_own_multiprocessors() {
    let arguments = ["by-sms", "--explain", "--n", "700"];
    let matches = Program::command().try_get_matches_from(arguments).unwrap();
    let Program { options } = Program::from_arg_matches(&matches).unwrap();
    for (sms, blocks) in [(7, 100), (10, 70)] {
        let gpu = format!("sm_90:{sms}").parse().unwrap();
        let settings = Settings { gpu, ..Settings::default() };
        let device = Device::open(Choice::Simt, &settings).unwrap();
        let mut text = Vec::new();
        explain(&[&STEP], &options, device.facts(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains(&format!("on a device with {sms} SMs")), "{text}");
        assert!(text.contains(&format!("| reduce | {blocks} ")), "{text}");
    }
}

#[test]
fn an_invalid_value_is_traced_to_its_variable() {
    let error = |args: &[&str]| {
        let words = ["v0"].iter().chain(args);
        Program::command().try_get_matches_from(words).expect_err("it is refused")
    };
    let said = |error: &clap::Error, words: &[&str], variable: &str, value: &str| {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        note(error, &words, |name| (name == variable).then(|| value.to_owned()))
    };
    for (option, variable) in
        [("--n", "REDUCE_N"), ("--device", "REDUCE_DEVICE"), ("--compiler", "REDUCE_COMPILER")]
    {
        let wrong = error(&[option, "foo"]);
        assert_eq!(
            said(&wrong, &["v0"], variable, "foo").unwrap(),
            format!(
                "note: the value comes from the environment variable {variable}, which is `foo`: change or unset it"
            )
        );
        // There is no note if a flag on the command line is wrong, or if another variable is set.
        assert_eq!(said(&wrong, &["v0", option, "foo"], variable, "foo"), None);
        assert_eq!(said(&wrong, &["v0", &format!("{option}=foo")], variable, "foo"), None);
        assert_eq!(said(&wrong, &["v0"], "REDUCE_SEED", "foo"), None);
    }
    assert_eq!(said(&error(&["--seed", "x"]), &["v0"], "REDUCE_N", "foo"), None);
    assert_eq!(said(&error(&["--help"]), &["v0"], "REDUCE_N", "foo"), None);
}
