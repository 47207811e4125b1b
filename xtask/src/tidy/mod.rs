//! `cargo x tidy`: checks rules that no compiler checks, and prints a line for each violation.

mod circles;
mod crates;
mod imports;
mod phrases;
mod signposts;
mod tokens;
mod weights;

use std::fs;

use anyhow::{Result, bail};
use compiler::{ELEMENTS, Stamp};
use xshell::Shell;

use crate::{
    diff,
    kernels::{self, Kernel},
};

/// The maximum number of lines that a step may add to the previous kernel, so that readers can
/// retype the lines. The steps in [`BUDGETS`] may add more lines.
const BUDGET: usize = 30;
const BUDGETS: [(&str, usize); 2] = [("v12-bulk-copy", 45), ("v13-exact-sum", 60)];

/// The maximum number of lines in a kernel.
const LONGEST: usize = 100;

/// The paragraphs of a step's kernel, each of which occurs once, in this order.
const PARAGRAPHS: [&str; 3] = ["// Load: ", "// Reduce: ", "// Store: "];

/// The files that differ between steps only in the name of the step.
const PARALLEL: [&str; 3] = ["Cargo.toml", "src/main.rs", "benches/reduce.rs"];

pub(crate) fn run(sh: &Shell) -> Result<()> {
    let steps = kernels::steps()?;
    let mut faults = Vec::new();
    let all = kernels::all()?;
    faults.extend(all.iter().filter(|kernel| kernel.name.contains('/')).flat_map(head));
    faults.extend(steps.iter().flat_map(head));
    faults.extend(steps.iter().flat_map(paragraphs));
    faults.extend(steps.iter().filter_map(too_long));
    faults.extend(steps.windows(2).filter_map(|pair| over_budget(&pair[0], &pair[1])));
    for step in &steps[1..] {
        faults.extend(PARALLEL.iter().filter_map(|file| not_parallel(&steps[0], step, file)));
    }
    faults.extend(all.iter().flat_map(|kernel| stale(kernel, &ELEMENTS)));
    faults.extend(kernels::page()?.iter().flat_map(|kernel| stale(kernel, &ELEMENTS)));
    let zoo = kernels::zoo()?;
    faults.extend(zoo.iter().flat_map(|kernel| stale(kernel, &kernels::ZOO)));
    faults.extend(zoo.iter().filter_map(unconfessed));
    faults.extend(crates::faults(&crate::root())?);
    faults.extend(weights::faults(sh, &crate::root())?);
    faults.extend(phrases::faults(sh, &crate::root())?);
    let architecture = fs::read_to_string(crate::root().join("ARCHITECTURE.md"))?;
    faults.extend(signposts::faults(&crate::root(), &architecture, &steps[0].name));
    match faults.len() {
        0 => {
            let lines: Vec<String> =
                steps.windows(2).map(|pair| diff::added(&pair[0], &pair[1]).to_string()).collect();
            say!("tidy; lines that each step adds to the previous kernel: {}", lines.join(", "));
            Ok(())
        }
        count => bail!("{count} untidy:\n  {}", faults.join("\n  ")),
    }
}

/// Checks that a kernel begins with two comment lines. The lines state the kernel's purpose and its
/// remaining cost; a third line may state its requirements.
fn head(kernel: &Kernel) -> Vec<String> {
    let Kernel { name, source, .. } = kernel;
    let lines: Vec<&str> = source.lines().take_while(|line| line.starts_with("// ")).collect();
    let needs = lines.get(2).is_none_or(|line| line.starts_with("// Needs compute_"));
    let good =
        (2..=3).contains(&lines.len()) && lines[1].starts_with("// Remaining cost: ") && needs;
    let mut faults = Vec::new();
    if !good {
        faults.push(format!(
            "{name}: kernel.cu must begin with its purpose, then `// Remaining cost: `, then optionally `// Needs compute_NN`"
        ));
    }
    if let Some((number, line)) =
        source.lines().enumerate().find(|(_, line)| line.chars().count() > 104)
    {
        faults.push(format!(
            "{name}: line {} of kernel.cu has {} columns, but at most 104 are allowed",
            number + 1,
            line.chars().count()
        ));
    }
    faults
}

fn paragraphs(kernel: &Kernel) -> Vec<String> {
    let Kernel { name, source, .. } = kernel;
    let places: Vec<Vec<usize>> =
        PARAGRAPHS.iter().map(|p| source.match_indices(p).map(|(at, _)| at).collect()).collect();
    let once = places.iter().all(|found| found.len() == 1);
    let fault = format!(
        "{name}: kernel.cu must have the paragraphs {} once each, in this order",
        PARAGRAPHS.join(", ")
    );
    if once && places.is_sorted() { Vec::new() } else { vec![fault] }
}

fn too_long(kernel: &Kernel) -> Option<String> {
    let lines = kernel.source.lines().count();
    (lines > LONGEST).then(|| {
        format!("{}: kernel.cu has {lines} lines, but at most {LONGEST} are allowed", kernel.name)
    })
}

fn over_budget(old: &Kernel, new: &Kernel) -> Option<String> {
    let own = BUDGETS.iter().find(|(step, _)| *step == new.name);
    let (budget, added) = (own.map_or(BUDGET, |(_, lines)| *lines), diff::added(old, new));
    (added > budget).then(|| {
        format!(
            "{}: {added} lines were added since {}, but a step may add at most {budget}: one idea per step",
            new.name, old.name
        )
    })
}

fn not_parallel(first: &Kernel, step: &Kernel, file: &str) -> Option<String> {
    let read = |kernel: &Kernel| {
        let text = fs::read_to_string(kernel.folder.join(file)).unwrap_or_default();
        text.replace(&kernel.name, "STEP").replace(&kernel.name.replace('-', "_"), "STEP")
    };
    (read(first) != read(step)).then(|| {
        format!("{}: {file} differs from that of {} in more than the name", step.name, first.name)
    })
}

/// Checks that the first line of a zoo kernel states a claim, and that its last line states either
/// the fault or the first portable GPU.
fn unconfessed(kernel: &Kernel) -> Option<String> {
    let first = kernel.source.lines().next().is_some_and(|line| line.starts_with("// "));
    let last = kernel.source.lines().last().is_some_and(|line| {
        line.starts_with("// Wrong: ") || line.starts_with("// Portable from ")
    });
    let fault = "must begin with a line that states its claim, and end with `// Wrong: ` or `// Portable from `";
    (!first || !last).then(|| format!("{}: {fault}", kernel.name))
}

fn stale(kernel: &Kernel, elements: &[(&str, &str)]) -> Vec<String> {
    let check = |(element, _): &(&str, &str)| {
        let file = kernel.ptx(element);
        let text = fs::read_to_string(kernel.folder.join(&file)).unwrap_or_default();
        let file = file.display().to_string();
        match Stamp::read(&text, &file) {
            Err(error) => Some(format!("{}: {error}", kernel.name)),
            Ok(stamp) if stamp.source != compiler::source_hash(&kernel.woven) => {
                Some(format!("{}: {file} is older than kernel.cu; run `cargo x ptx`", kernel.name))
            }
            Ok(_) => None,
        }
    };
    elements.iter().filter_map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(source: &str) -> Kernel {
        Kernel {
            name: "v1-divergence".into(),
            folder: "nowhere".into(),
            file: "src/kernel.cu".into(),
            source: source.into(),
            woven: source.into(),
        }
    }

    #[test]
    fn a_head_says_what_and_what_it_costs() {
        assert!(head(&kernel("// Adds.\n// Remaining cost: time.\nextern\n")).is_empty());
        assert!(
            head(&kernel(
                "// Adds.\n// Remaining cost: time.\n// Needs compute_70: a reason.\nextern\n"
            ))
            .is_empty()
        );
        for bad in [
            "extern\n",
            "// Adds.\nextern\n",
            "// Adds.\n// Costs.\nextern\n",
            "// A.\n// Remaining cost: b.\n// More.\nextern",
        ] {
            assert_eq!(head(&kernel(bad)).len(), 1, "{bad}");
        }
        for (columns, faults) in [(104, 0), (105, 1)] {
            let long = format!("// Adds.\n// Remaining cost: time.\n{}\n", "x".repeat(columns));
            assert_eq!(head(&kernel(&long)).len(), faults, "{columns}");
        }
    }

    #[test]
    fn paragraphs_come_once_and_in_order() {
        assert!(paragraphs(&kernel("// Load: a\n// Reduce: b\n// Store: c\n")).is_empty());
        for bad in [
            "",
            "// Load: a\n// Store: c\n// Reduce: b\n",
            "// Load: a\n// Load: a\n// Reduce: b\n// Store: c\n",
        ] {
            assert_eq!(paragraphs(&kernel(bad)).len(), 1, "{bad}");
        }
    }

    #[test]
    fn a_step_over_its_budget_is_named() {
        let old = kernel("// A.\n// Remaining cost: b.\n");
        let lines = |count: usize| {
            kernel(&format!("// A.\n// Remaining cost: b.\n{}", "line\n".repeat(count)))
        };
        assert_eq!(over_budget(&old, &lines(30)), None);
        assert!(over_budget(&old, &lines(31)).unwrap().contains("31 lines were added"));
        let bulk = |count| Kernel { name: "v12-bulk-copy".into(), ..lines(count) };
        assert_eq!(over_budget(&old, &bulk(45)), None);
        assert!(over_budget(&old, &bulk(46)).unwrap().contains("46 lines were added"));
    }

    #[test]
    fn a_kernel_of_more_than_a_hundred_lines_is_named() {
        assert_eq!(too_long(&kernel(&"line\n".repeat(100))), None);
        assert!(too_long(&kernel(&"line\n".repeat(101))).unwrap().contains("101 lines"));
    }

    #[test]
    fn what_differs_by_more_than_the_name_is_not_parallel() {
        let root = std::env::temp_dir().join(format!("tidy {}", std::process::id()));
        let step = |name: &str, text: &str| {
            let folder = root.join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("main.rs"), text).unwrap();
            Kernel { name: name.into(), folder, ..kernel("") }
        };
        let first = step("v0-naive", "run(&v0_naive::STEP) // v0-naive");
        let same = step("v1-divergence", "run(&v1_divergence::STEP) // v1-divergence");
        let other = step("v2-other", "run(&v0_naive::STEP) // v2-other");
        assert_eq!(not_parallel(&first, &same, "main.rs"), None);
        let fault = not_parallel(&first, &other, "main.rs").unwrap();
        assert!(fault.starts_with("v2-other: main.rs differs from that of v0-naive"), "{fault}");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_broken_sum_says_what_it_claims_and_what_is_wrong() {
        let whole = "// Claims.\nint a;\n// Wrong: what.\n";
        assert_eq!(unconfessed(&kernel(whole)), None);
        for text in ["int a;\n// Wrong: what.\n", "// Claims.\nint a;\n", "int a;\n"] {
            let fault = unconfessed(&kernel(text)).unwrap();
            assert!(
                fault.starts_with("v1-divergence: must begin with a line that states its claim"),
                "{fault}"
            );
        }
    }

    #[test]
    fn stale_or_missing_ptx_is_named() {
        assert_eq!(stale(&kernel("anything"), &ELEMENTS).len(), 3);
        // One file is beside a kernel that has changed, and the other is beside an unchanged
        // kernel.
        let folder = std::env::temp_dir().join(format!("tidy ptx {}", std::process::id()));
        let made = Kernel { folder: folder.clone(), ..kernel("int a;") };
        for (element, _) in ELEMENTS {
            let path = folder.join(made.ptx(element));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, Stamp::put(".version 8.4\n", "int a;", "by hand")).unwrap();
        }
        assert_eq!(stale(&made, &ELEMENTS), Vec::<String>::new());
        let changed = Kernel { woven: "int b;".into(), ..made };
        let faults = stale(&changed, &ELEMENTS);
        assert!(faults.len() == 3 && faults[0].contains("is older than kernel.cu"), "{faults:?}");
        fs::remove_dir_all(folder).unwrap();
    }
}
