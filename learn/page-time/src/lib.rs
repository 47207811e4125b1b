//! The timing model in a page of the book: films one multiprocessor, and predicts the time of a
//! kernel.
//!
//! A page sends a kernel's PTX, the step that launches it, and changes to the GPU. The answer
//! contains the state of each warp slot in each cycle and the loads in flight, and summarizes both
//! as numbers and in words. The model is a separate WebAssembly module, because most readers of a
//! page use only one figure.

mod answer;
#[cfg(target_family = "wasm")]
#[path = "../../page/src/export.rs"]
mod export;
mod question;
mod words;

pub use answer::{Answer, Filmed, Predicted, run};
pub use question::{CYCLES, Question};
pub use words::{HEAD, Row};

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
