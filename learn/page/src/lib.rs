//! The interpreter in a page of the book: takes a question in JSON, and returns the answer in JSON.
//!
//! A page sends a kernel's PTX, the step that launches it, the number of elements, and the threads
//! per block. [`ask`] plans, runs, verifies and counts the launches with the same functions as
//! every program of the workspace, and makes the frames that a figure shows. `cargo x wasm` builds
//! a WebAssembly module from this crate; the module's three exports are in `export`.

mod answer;
#[cfg(target_family = "wasm")]
mod export;
pub mod frame;
mod question;
mod run;

pub use answer::Answer;
pub use question::Question;
pub use run::run;

/// Takes a question in JSON, and returns the answer in JSON. If the question has no answer, the
/// reply contains a sentence that states the reason.
pub fn ask(question: &str) -> String {
    let answer = match serde_json::from_str(question) {
        Ok(question) => run(&question),
        Err(error) => Answer::refused(format!("this is not a valid question: {error}")),
    };
    // This cannot fail: floats that are not finite become `null`, and every key is a string.
    serde_json::to_string(&answer).unwrap_or_default()
}
