//! The judge in a page of the book: takes a kernel in JSON, and returns the verdict in JSON.
//!
//! The judge is a separate WebAssembly module, because few readers who use a figure also do an
//! exercise, and on a phone every byte takes time to load.

#[cfg(target_family = "wasm")]
#[path = "../../page/src/export.rs"]
mod export;

use judge::{Kernel, TASKS, judge};
use serde::{Deserialize, Serialize};

/// A question from a page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The number of the exercise, from 1.
    task: usize,
    source: String,
    /// The PTX for float, int and double; null if unavailable.
    ptx: [Option<String>; 3],
    /// The seed of the numbers and schedules.
    seed: u64,
}

/// The answer that a page gets.
#[derive(Debug, Default, Serialize)]
struct Answer {
    /// The reason why there is no verdict.
    stopped: Option<String>,
    passed: bool,
    /// The verdict, wrapped at 80 columns.
    page: String,
    /// The lines of the source that the verdict names.
    lines: Vec<u32>,
}

/// Takes a question in JSON, and returns the answer in JSON. If the question has no answer, the
/// reply contains a sentence that states the reason.
pub fn ask(question: &str) -> String {
    let answer = match serde_json::from_str(question) {
        Ok(question) => answer(&question),
        Err(error) => refused(format!("this is not a valid question for the judge: {error}")),
    };
    // This cannot fail, because every key is a string.
    serde_json::to_string(&answer).unwrap_or_default()
}

fn answer(question: &Question) -> Answer {
    let Some(task) = TASKS.iter().find(|task| task.number == question.task) else {
        let most = TASKS.len();
        return refused(format!("there is no exercise {}: choose 1 to {most}", question.task));
    };
    let ptx = question.ptx.each_ref().map(Option::as_deref);
    let verdict = judge(task, &Kernel { source: &question.source, ptx }, question.seed);
    Answer {
        stopped: None,
        passed: verdict.passed(),
        page: verdict.page(&question.source),
        lines: verdict.failure.map(|failure| failure.lines).unwrap_or_default(),
    }
}

fn refused(why: String) -> Answer {
    Answer { stopped: Some(why), ..Answer::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const SOURCE: &str = include_str!("../../../steps/v1-divergence/src/kernel.cu");
    const PTX: &str = include_str!("../../../steps/v1-divergence/src/kernel.f32.ptx");

    fn asked(task: usize, ptx: &str) -> Value {
        let question =
            json!({ "task": task, "source": SOURCE, "ptx": [ptx, null, null], "seed": 3 });
        serde_json::from_str(&ask(&question.to_string())).unwrap()
    }

    #[test]
    fn a_kernel_passes_its_exercise_and_fails_the_next_one() {
        let good = asked(2, PTX);
        assert_eq!((&good["passed"], &good["stopped"]), (&json!(true), &Value::Null), "{good}");
        assert!(good["page"].as_str().unwrap().starts_with("exercise 2: "), "{good}");
        let next = asked(3, PTX);
        assert_eq!(next["passed"], json!(false), "{next}");
        assert!(next["page"].as_str().unwrap().contains("shared conflicts"), "{next}");
        let line = SOURCE.lines().position(|line| line.contains("shared[left] +=")).unwrap() + 1;
        assert_eq!(next["lines"], json!([line]), "{next}");
        let edited = asked(2, &PTX.replace("add.f32", "sub.f32"));
        assert!(edited["page"].as_str().unwrap().contains("instead of"), "{edited}");
    }

    #[test]
    fn an_invalid_exercise_is_a_sentence() {
        assert!(
            asked(18, PTX)["stopped"].as_str().unwrap().contains("no exercise 18: choose 1 to 17")
        );
        let none: Value = serde_json::from_str(&ask("what")).unwrap();
        assert!(none["stopped"].as_str().unwrap().contains("not a valid question"), "{none}");
    }
}
