//! The kernels of the crate `reduce`: one source, a PTX file for each type, without clusters and with.

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

/// One PTX file.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Where it lies, from the root of the workspace.
    pub(crate) path: String,
    architecture: u32,
    of: (&'static str, &'static str, &'static str, Option<&'static str>),
}

/// All PTX files of the library.
pub(crate) fn variants() -> Vec<Variant> {
    let of_type = |of: (&'static str, _, _, _)| {
        [70, 90].map(|architecture| Variant {
            path: format!("reduce/src/ptx/{}.{architecture}.ptx", of.0),
            architecture,
            of,
        })
    };
    TYPES.into_iter().flat_map(of_type).collect()
}

impl Variant {
    /// What it is compiled with. Lines are left out: nobody steps through a library's kernels.
    pub(crate) fn options(&self) -> Vec<String> {
        let (_, load, add, widen) = self.of;
        let mut options = vec![
            format!("--gpu-architecture=compute_{}", self.architecture),
            format!("--define-macro=In={load}"),
            format!("--define-macro=Acc={add}"),
            "--std=c++17".into(),
        ];
        options.extend(widen.map(|name| format!("--define-macro={name}")));
        options
    }
}
