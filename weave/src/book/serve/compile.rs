//! Compiles an edited kernel, in a child process that is killed after a time limit.
//!
//! The compiler runs in a process of its own, because a compiler library expects trusted sources,
//! and these sources come from a page.

use std::{
    io::{self, Read, Write},
    path::PathBuf,
    process::ExitCode,
    sync::{LazyLock, Mutex},
    time::Duration,
};

use anyhow::Result;
use compiler::{Compiler, ELEMENTS, Error, Unit, beside, includes, woven};
use serde::{Deserialize, Serialize};
use serde_json::json;
use xtask::kernels::{self, Kernel};

use super::{include::refused, limited, request::Refusal};

/// The argument that starts the child process.
pub(crate) const WORD: &str = "compile-for-a-page";
/// The path of this program. The program reads it when it starts: it may run cargo, which replaces
/// the file, and the system then reports another path.
pub(crate) static PROGRAM: LazyLock<io::Result<PathBuf>> = LazyLock::new(std::env::current_exe);
/// The file name in the compiler's messages.
const FILE: &str = "kernel.cu";
/// The maximum size of a source, in bytes.
const MOST: usize = 64_000;
/// The time limit. Compiling a kernel takes a third of a second, three times as long if the kernel
/// is judged, and even longer if the machine is busy.
const LIMIT: Duration = Duration::from_secs(10);

/// A page's request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    /// The name of the original kernel. The new source may include the files that this kernel
    /// includes.
    kernel: String,
    /// The element types, in the notation of `--type`.
    types: Vec<String>,
    source: String,
}

/// The input for the child process.
#[derive(Debug, Deserialize, Serialize)]
struct Text {
    types: Vec<String>,
    source: String,
}

/// Returns the PTX for each type, or the compiler's message and the line that it names.
pub(super) fn answer(body: &[u8]) -> Result<Vec<u8>, Refusal> {
    let order: Order = serde_json::from_slice(body)
        .map_err(|error| Refusal::bad(format!("this request has no kernel: {error}")))?;
    if order.source.len() > MOST {
        return Err(Refusal::large(format!(
            "a page's kernel can have at most {MOST} bytes, but this kernel has {}: compile it with `--kernel`",
            order.source.len()
        )));
    }
    if let Some(other) = order.types.iter().find(|name| !ELEMENTS.iter().any(|e| e.0 == **name)) {
        return Err(Refusal::bad(format!("there is no type `{other}`: use f32, i32 or f64")));
    }
    let failed = |line: Option<usize>, why: String| {
        Ok(json!({ "error": why, "line": line }).to_string().into_bytes())
    };
    let source = match with_own(&order) {
        Ok(source) => source,
        Err(error) => return failed(None, error.to_string()),
    };
    if let Some((line, why)) = refused(&source) {
        return failed(Some(line), format!("{FILE}({line}): {why}"));
    }
    // Kernels are compiled one at a time, because a page sends its kernel at each pause in typing.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let text = json!(Text { types: order.types, source }).to_string().into_bytes();
    let program =
        PROGRAM.as_deref().map_err(|error| io::Error::new(error.kind(), error.to_string()));
    let said = program
        .and_then(|path| limited::run(&mut limited::program(path, WORD, LIMIT), text, LIMIT));
    match said {
        Ok(Some(said)) if said.starts_with(b"{") => Ok(said),
        Ok(Some(_)) => failed(None, "the compiler ended without a message: it may have run out of time or memory; undo your last edit".into()),
        Ok(None) => failed(
            None,
            format!("the compiler was stopped after {} s: look for a template or a `#pragma unroll` without an end", LIMIT.as_secs()),
        ),
        Err(error) => failed(None, format!("the compiler cannot be started: {error}")),
    }
}

/// Inlines the files that our kernel with this name includes.
fn with_own(order: &Order) -> Result<String> {
    let all = kernels::all()?.into_iter().chain(kernels::page()?);
    let own: Vec<Kernel> = all.filter(|kernel| kernel.name == order.kernel).collect();
    let find = |name: &str| {
        let kernel = own.iter().find(|kernel| includes(&kernel.source).any(|own| own == name))?;
        beside(&kernel.folder.join(&kernel.file), name)
    };
    let known = |line: &str| includes(line).next().is_none_or(|name| find(name).is_some());
    match order.source.lines().all(known) {
        true => Ok(woven(&order.source, FILE, find)?),
        // A later check refuses the include, and reports its line number.
        false => Ok(order.source.clone()),
    }
}

/// Runs the child process, which reads a request from standard input and writes its reply to
/// standard output.
pub(crate) fn child() -> ExitCode {
    let mut text = String::new();
    let made = io::stdin().read_to_string(&mut text).map_err(anyhow::Error::from);
    let made =
        made.and_then(|_| Ok(serde_json::from_str::<Text>(&text)?)).and_then(|text| made_of(&text));
    let answer = match made {
        Ok(answer) => answer,
        Err(error) => json!({ "error": format!("{error:#}") }),
    };
    match io::stdout().write_all(answer.to_string().as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn made_of(text: &Text) -> Result<serde_json::Value> {
    let compiler = Compiler::find(None)?;
    let mut ptx = serde_json::Map::new();
    for (name, element) in
        ELEMENTS.into_iter().filter(|(name, _)| text.types.iter().any(|t| t == name))
    {
        let unit = Unit::of_kernel(&text.source, FILE, element);
        match compiler.compile(&unit) {
            Ok(made) => ptx.insert(name.into(), made.into()),
            Err(Error::Compile { log, .. }) => {
                let message = check::compile::first(&log, unit.architecture);
                let line = line(&message);
                let error = format!("{compiler} refuses the source: {message}");
                return Ok(json!({ "error": error, "line": line }));
            }
            Err(other) => return Err(other.into()),
        };
    }
    Ok(json!({ "ptx": ptx, "compiler": compiler.to_string() }))
}

/// Finds the line that a message names: NVRTC writes `kernel.cu(12): error`, and clang writes
/// `kernel.cu:12:5: error`.
fn line(message: &str) -> Option<u32> {
    let rest = message.split_once(FILE)?.1.strip_prefix(['(', ':'])?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_compilers_name_a_line() {
        assert_eq!(line("kernel.cu(12): error: expected a \";\"\n  a\n"), Some(12));
        assert_eq!(line("kernel.cu:7:5: error: use of undeclared identifier"), Some(7));
        assert_eq!(line("bulk.cuh(3): error: no"), None);
        assert_eq!(line(""), None);
    }

    fn said(order: serde_json::Value) -> String {
        match answer(order.to_string().as_bytes()) {
            Ok(said) => String::from_utf8(said).unwrap(),
            Err(refusal) => {
                format!("{} {}", refusal.status, String::from_utf8(refusal.body).unwrap())
            }
        }
    }

    #[test]
    fn invalid_requests_are_refused_without_a_compiler() {
        let order =
            |source: &str| json!({ "kernel": "v0-naive", "types": ["f32"], "source": source });
        let large = said(order(&" ".repeat(65_000)));
        assert!(
            large.starts_with("413")
                && large.contains("at most 64000 bytes, but this kernel has 65000"),
            "{large}"
        );
        let include = said(order("int a;\n#include \"/etc/passwd\"\n"));
        assert!(
            include.contains("kernel.cu(2): `#include` is refused")
                && include.contains("\"line\":2"),
            "{include}"
        );
        // The files of another kernel are refused too.
        let other = said(order("#include \"bulk.cuh\"\n"));
        assert!(other.contains("`#include` is refused"), "{other}");
        let kind = said(json!({ "kernel": "", "types": ["f16"], "source": "" }));
        assert!(kind.starts_with("400") && kind.contains("no type `f16`"), "{kind}");
        let none = answer(b"what").unwrap_err();
        assert!(String::from_utf8(none.body).unwrap().contains("this request has no kernel"));
    }

    #[test]
    fn a_kernel_may_include_our_files() {
        let of = |kernel: &str, source: &str| {
            with_own(&Order { kernel: kernel.into(), types: vec![], source: source.into() })
                .unwrap()
        };
        let source = "#include \"bulk.cuh\"\nint a;\n";
        assert!(of("v12-bulk-copy", source).starts_with("#line 1 \"/bulk.cuh\"\n"));
        assert_eq!(of("v0-naive", source), source);
        let two = format!("{source}#include \"driver.rs\"\n");
        assert_eq!(of("v12-bulk-copy", &two), two);
    }
}
