//! Implements `{{task N}}`, which shows an exercise from `exercises/` that `cargo x check` judges.

use anyhow::{Result, ensure};
use check::exercise::Exercise;

/// Formats the task, its budget, and the hints, each in a fold of its own.
pub(crate) fn html(number: usize) -> Result<String> {
    let exercise = Exercise::of(number)?;
    let (asked, hints) = exercise.text()?;
    let task = exercise.task;
    ensure!(
        hints.len() == 3,
        "exercises/{}/task.md has {} hints instead of 3",
        task.folder,
        hints.len()
    );
    let mut out = format!(
        "\n<section class=\"box exercise\">\n<p class=\"box-title\">Exercise {number}: {}</p>\n\n{asked}\n\n\
         Your file is `exercises/{}/kernel.cu`, and `cargo x check {number}` judges it, without a GPU.\n{}\n",
        task.name,
        task.folder,
        task.asked().replace("2^32", "2³²")
    );
    for (at, hint) in hints.iter().enumerate() {
        out +=
            &format!("\n<details>\n<summary>Hint {}</summary>\n\n{hint}\n\n</details>\n", at + 1);
    }
    // If scripts run, the page has buttons, which run the same judge in the page.
    Ok(out + &format!("\n<div class=\"judge\" data-task=\"{number}\"></div>\n</section>\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exercise_has_a_text_a_budget_and_three_hints() {
        let html = html(3).unwrap();
        assert!(html.contains("Exercise 3: no bank conflicts"), "{html}");
        assert!(
            html.contains(
                "no shared conflicts, at most 60 shared accesses and at most 72 barriers"
            ),
            "{html}"
        );
        assert_eq!(html.matches("<details>").count(), 3);
        assert_eq!(html.matches("data-task=\"3\"").count(), 1);
        assert_eq!(html.matches("<section").count(), html.matches("</section>").count());
        assert!(super::html(18).unwrap_err().to_string().contains("choose 1 to 17"));
    }
}
