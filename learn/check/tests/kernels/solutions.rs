//! Tests that three correct solutions of each exercise pass it, and that the given skeleton and the
//! solution of the previous exercise fail with a message about the missing part.

use std::thread;

use check::exercise::Exercise;
use judge::{TASKS, Task};

use crate::said::{compiler, reference, said};

/// The reference solution passes, and so does one of the two others.
#[test]
fn two_correct_solutions_pass() {
    pass(|task, at| at == 0 || at == 1 + task.number % 2);
}

#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn three_correct_solutions_pass() {
    pass(|_, _| true);
}

fn pass(chosen: fn(&Task, usize) -> bool) {
    let Some(compiler) = compiler() else { return };
    let pass = |task: &Task| {
        let solutions = Exercise::of(task.number).unwrap().solutions().unwrap();
        assert_eq!(solutions.len(), 3, "{}", task.folder);
        assert_eq!(solutions[0].0, "reference.cu");
        let chosen = solutions.into_iter().enumerate().filter(|(at, _)| chosen(task, *at));
        for (_, (name, source)) in chosen {
            let (passed, text) = said(&compiler, task.number, &source, 20);
            assert!(passed, "{}/{name}: {text}", task.folder);
        }
    };
    // One thread per exercise, so that the test uses all cores.
    thread::scope(|scope| {
        for task in &TASKS {
            scope.spawn(|| pass(task));
        }
    });
}

#[test]
fn the_skeleton_fails_with_a_size_and_the_missing_part() {
    let Some(compiler) = compiler() else { return };
    for task in &TASKS {
        let stub = committed(task.folder);
        assert!(stub.starts_with("// ") && stub.contains("\n// Write "), "{}", task.folder);
        assert!(stub.contains(" reduce"), "{}", task.folder);
        let (passed, text) = said(&compiler, task.number, &stub, 1);
        assert!(!passed, "{text}");
        let empty = stub.ends_with("{\n}\n");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let telling = if empty { "wrote its" } else { "n = " };
        assert!(text.contains(telling) || text.contains("wrote its"), "{text}");
    }
}

/// Returns the committed skeleton, because the reader may have changed the file.
fn committed(folder: &str) -> String {
    let file = format!("exercises/{folder}/kernel.cu");
    let mut git = std::process::Command::new("git");
    let output = git.args(["show", &format!("HEAD:{file}")]).current_dir(xtask::root()).output();
    match output.ok().filter(|output| output.status.success()) {
        Some(output) => String::from_utf8(output.stdout).unwrap(),
        None => std::fs::read_to_string(xtask::root().join(file)).unwrap(),
    }
}

/// Tests every second exercise.
#[test]
fn the_solution_of_the_exercise_before_lacks_the_idea() {
    lack_the_idea(2);
}

#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn each_solution_of_the_exercise_before_lacks_the_idea() {
    lack_the_idea(1);
}

/// Judges every `step`-th exercise.
fn lack_the_idea(step: usize) {
    let Some(compiler) = compiler() else { return };
    let in_order = (2..=11).map(|number| (number, number - 1));
    for (number, before) in in_order.chain([(15, 7), (16, 9), (17, 8)]).step_by(step) {
        let task = &TASKS[number - 1];
        let (passed, text) = said(&compiler, number, &reference(before), 1);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!passed && words(&text).contains(task.idea.1), "{text}");
    }
}

#[test]
fn each_exercise_has_a_task_and_three_hints() {
    for task in &TASKS {
        let (asked, hints) = Exercise::of(task.number).unwrap().text().unwrap();
        assert!(asked.len() > 60 && hints.len() == 3, "{}", task.folder);
        assert!(hints.iter().all(|hint| hint.len() > 40), "{}", task.folder);
        assert!(xtask::root().join("book/src").join(task.chapter).with_extension("md").exists());
    }
}

#[test]
fn any_spelling_of_a_path_finds_the_reader_s_own_file() {
    let exercise = Exercise::of(3).unwrap();
    let folder = exercise.folder.clone();
    assert!(exercise.is_own(&folder.join("kernel.cu")));
    assert!(exercise.is_own(&folder.join("solutions/../kernel.cu")));
    for other in ["task.md", "solutions/reference.cu", "nowhere.cu", "../01-tree/kernel.cu"] {
        assert!(!exercise.is_own(&folder.join(other)), "{other}");
    }
}
