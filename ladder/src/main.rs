//! All steps in order.
fn main() {}
