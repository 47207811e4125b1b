//! Tests that the committed header equals the one that cbindgen generates.

use std::path::Path;

#[test]
fn the_header_is_fresh() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let bindings =
        cbindgen::Builder::new().with_config(config).with_src(folder.join("src/lib.rs")).generate();
    let mut made = Vec::new();
    bindings.unwrap().write(&mut made);
    // Renames `type_`, because `type` is a keyword in Rust, and removes the `# Safety` sections.
    let made = String::from_utf8(made).unwrap().replace("type_", "type");
    let made = made
        .replace(" *\n * # Safety\n * The pointers must be valid, as the header requires.\n", "");
    let path = folder.join("include/samebits.h");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == kept,
        "include/samebits.h differs from cbindgen's output; to update it: UPDATE_EXPECT=1 cargo test -p samebits-c"
    );
}
