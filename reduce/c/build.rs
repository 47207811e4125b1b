//! Stores the version of the C interface in the shared library. Programs that were linked against a
//! different version do not load this library.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsamebits.so.0");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
