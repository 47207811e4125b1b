//! The kernels of the crate `reduce`: one source, a PTX file for each type, without clusters and with.

use compiler::Unit;

/// The source, from the root of the workspace.
pub(crate) const SOURCE: &str = "reduce/src/kernel.cu";

/// The types: name, what an element is loaded as, what it is added as, and how it is widened.
const TYPES: [(&str, &str, &str, Option<&str>); 8] = [
    ("f32", "float", "float", None),
    ("f64", "double", "double", None),
    ("i32", "int", "int", None),
    ("u32", "unsigned int", "unsigned int", None),
    ("i64", "long long", "long long", None),
    ("u64", "unsigned long long", "unsigned long long", None),
    ("f16", "unsigned short", "float", Some("HALF")),
    ("bf16", "unsigned short", "float", Some("BFLOAT")),
];

/// All PTX files of the library, from the root of the workspace, and what each is made from. Lines are left out: nobody steps through a library's kernels.
pub(crate) fn files(source: &str) -> Vec<(String, Unit<'_>)> {
    let of_type = |(name, load, add, widen): (_, _, _, Option<_>)| {
        let mut options = vec![
            format!("--define-macro=In={load}"),
            format!("--define-macro=Acc={add}"),
            "--std=c++17".into(),
        ];
        options.extend(widen.map(|name| format!("--define-macro={name}")));
        [70, 90].map(|architecture| {
            let name = format!("reduce/src/ptx/{name}.{architecture}.ptx");
            let options = options.clone();
            (name, Unit { source, file: "kernel.cu", architecture, options })
        })
    };
    TYPES.into_iter().flat_map(of_type).collect()
}
