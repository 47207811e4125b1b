//! The interpreter in a page of the book: a question as JSON, and its answer.
//!
//! A page brings a kernel's PTX and says which step launches it, on how many elements, in blocks of
//! how many threads. [`ask`] plans, runs, verifies and counts it by the same functions as every
//! program of the workspace, and draws the frames that a figure shows. `cargo x wasm` makes a
//! WebAssembly module of it, whose three exports are in `export`.

mod answer;
#[cfg(target_family = "wasm")]
mod export;
pub mod frame;
mod question;
mod run;
mod steps;

pub use answer::Answer;
pub use question::Question;
pub use run::run;
pub use steps::{STEPS, step};

/// The answer to a question, both as JSON. What cannot be answered is a sentence in it.
pub fn ask(question: &str) -> String {
    let answer = match serde_json::from_str(question) {
        Ok(question) => run(&question),
        Err(error) => Answer::refused(format!("this is no question: {error}")),
    };
    // Floats that are no numbers become `null`, and every key is a text.
    serde_json::to_string(&answer).unwrap_or_default()
}
