//! Implements `{{task N}}`, which shows an exercise from `exercises/` that `cargo x check` judges.

use anyhow::{Context, Result, ensure};
use check::exercise::Exercise;

use super::highlight::{Language, listing};
use crate::book::source::file::read;

/// Formats the task and its budget, and the skeleton in a fold. `live/task-N.js` contains the
/// hints; the page shows one hint per click.
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
    // The requirements that hold for every exercise are stated once, in the index.
    let terms = task.asked().replace("2^32", "2³²");
    let (head, rest) = terms.split_once(", in blocks of").context("a task names its blocks")?;
    ensure!(head.starts_with("The kernel must be correct for"), "a task begins with {head:?}");
    let terms = format!("The kernel must be correct in blocks of{rest}");
    let mut out = format!(
        "\n<section class=\"box exercise\">\n<p class=\"box-title\">Exercise {number}: {}</p>\n\n{asked}\n\n\
         `cargo x check {number}` judges `exercises/{}/kernel.cu`. {terms}\n",
        task.name, task.folder,
    );
    let skeleton = listing(Language::Cuda, &read(&exercise.kernel())?);
    out += &format!("\n<details>\n<summary>The skeleton</summary>\n\n{skeleton}\n\n</details>\n");
    // If scripts run, the page has buttons, which run the same judge in the page.
    Ok(out + &format!("\n<div class=\"judge\" data-task=\"{number}\"></div>\n</section>\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exercise_has_a_text_a_budget_and_a_skeleton() {
        let html = html(3).unwrap();
        assert!(html.contains("Exercise 3: no bank conflicts"), "{html}");
        assert!(
            html.contains(
                "no shared conflicts, at most 60 shared accesses and at most 72 barriers"
            ),
            "{html}"
        );
        assert!(html.contains("Your code goes here"), "{html}");
        assert_eq!(html.matches("<details>").count(), 1);
        assert_eq!(html.matches("data-task=\"3\"").count(), 1);
        assert_eq!(html.matches("<section").count(), html.matches("</section>").count());
        assert!(super::html(18).unwrap_err().to_string().contains("choose 1 to 17"));
    }
}
