//! Finds which file in a crate imports which other file, by resolving every path through
//! re-exports.
//!
//! Items behind `#[cfg(test)]` are not read.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow};
use proc_macro2::{TokenStream, TokenTree};

use super::tokens::{Path, after_attribute, is, path, placed, word};

/// The sources of a crate: the path within the crate, and the text.
pub(crate) type Files = BTreeMap<String, String>;

/// Returns which file imports which. A file that only declares modules and re-exports names has no
/// edges: names imported from it count as imports from the files that define them.
///
/// # Errors
/// Fails if a file is not valid Rust.
pub(crate) fn edges(files: &Files) -> Result<BTreeSet<(&str, &str)>> {
    let mut edges = BTreeSet::new();
    for root in files.keys().filter(|path| is_root(path)) {
        let mut tree = Tree { files, modules: Vec::new(), own: BTreeSet::new() };
        tree.file(root, folder(root), None)?;
        for (at, module) in tree.modules.iter().enumerate() {
            let found = module.paths.iter().filter_map(|path| tree.resolve(at, path, DEPTH));
            edges.extend(found.map(|target| (module.file, tree.modules[target].file)).filter(
                |(from, to)| from != to && tree.own.contains(from) && tree.own.contains(to),
            ));
        }
    }
    Ok(edges)
}

/// The maximum length of a chain of re-exports, so that a cycle of re-exports ends.
const DEPTH: usize = 16;

#[derive(Debug)]
struct Tree<'f> {
    files: &'f Files,
    /// All modules, with the root first.
    modules: Vec<Module<'f>>,
    /// The files that contain more than declarations.
    own: BTreeSet<&'f str>,
}

/// A module: a file, or a part of one.
#[derive(Debug, Default)]
struct Module<'f> {
    file: &'f str,
    /// The folder of the files for the module's own modules, with a slash at the end.
    folder: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// The names that the module defines.
    defines: BTreeSet<String>,
    /// The names that the module imports.
    uses: BTreeMap<String, Path>,
    globs: Vec<Path>,
    /// Every path in the module.
    paths: Vec<Path>,
}

/// Returns whether this file is the root of a crate.
fn is_root(path: &str) -> bool {
    let folders: Vec<&str> = path.split('/').collect();
    matches!(
        folders[..],
        ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["tests" | "benches" | "examples" | "fuzz_targets", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

/// Returns the folder of a path, including the slash at the end.
fn folder(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"))
}

impl<'f> Tree<'f> {
    /// Reads a file, and the files that it declares.
    fn file(&mut self, path: &str, folder: String, parent: Option<usize>) -> Result<usize> {
        let (path, text) =
            self.files.get_key_value(path).ok_or_else(|| anyhow!("there is no {path}"))?;
        let tokens: TokenStream =
            text.parse().map_err(|error| anyhow!("{path} is not valid Rust: {error}"))?;
        let module = self.module(path, folder, parent);
        self.walk(tokens, module, true)?;
        Ok(module)
    }

    fn module(&mut self, file: &'f str, folder: String, parent: Option<usize>) -> usize {
        self.modules.push(Module { file, folder, parent, ..Module::default() });
        self.modules.len() - 1
    }

    /// Reads the tokens of a module, or the tokens within an item.
    fn walk(&mut self, tokens: TokenStream, module: usize, items: bool) -> Result<()> {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        // The path of the next module, from `#[path = "…"]`.
        let mut place = None;
        while let Some(token) = tokens.get(at) {
            let word = word(token);
            let next = tokens.get(at + 1);
            match (word.as_deref(), next) {
                _ if is(token, '#') => {
                    place = next.and_then(placed).or(place);
                    at = after_attribute(&tokens, at);
                }
                (Some("use"), Some(TokenTree::Ident(_) | TokenTree::Group(_))) => {
                    let length = tokens[at..].iter().take_while(|t| !is(t, ';')).count();
                    self.imports(&tokens[at + 1..at + length], Path::new(), module);
                    at += length + 1;
                }
                (Some("mod"), Some(TokenTree::Ident(name))) => {
                    let place = place.take();
                    self.declared(name.to_string(), tokens.get(at + 2), place, module)?;
                    at += 3;
                }
                // Skip `pub(crate)`.
                (Some("pub"), Some(TokenTree::Group(_))) if items => at += 2,
                (Some("pub"), _) => at += 1,
                _ => {
                    if items {
                        self.own.insert(self.modules[module].file);
                        self.defined(&tokens[at..], module);
                    }
                    if let TokenTree::Group(group) = token {
                        self.walk(group.stream(), module, false)?;
                    }
                    let path = path(&tokens[at..]);
                    at += (3 * path.len()).saturating_sub(2).max(1);
                    if path.len() > 1 {
                        self.modules[module].paths.push(path);
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads `mod name;` or `mod name { … }`, perhaps after `#[path = "…"]`.
    fn declared(
        &mut self,
        name: String,
        body: Option<&TokenTree>,
        place: Option<String>,
        module: usize,
    ) -> Result<()> {
        let within = &self.modules[module];
        let path = format!("{}{name}/", within.folder);
        let child = match (body, place) {
            (Some(TokenTree::Group(body)), _) => {
                let child = self.module(within.file, path, Some(module));
                self.modules[module].children.insert(name, child);
                return self.walk(body.stream(), child, true);
            }
            // A file in another crate is read with that crate.
            (_, Some(place)) if place.matches("../").count() > within.file.matches('/').count() => {
                return Ok(());
            }
            (_, Some(place)) => {
                let file = joined(&folder(within.file), &place);
                self.file(&file, folder(&file), Some(module))?
            }
            _ => {
                let flat = format!("{}.rs", path.trim_end_matches('/'));
                let nested = format!("{path}mod.rs");
                let file = if self.files.contains_key(&nested) { nested } else { flat };
                self.file(&file, path, Some(module))?
            }
        };
        self.modules[module].children.insert(name, child);
        Ok(())
    }

    /// Reads `fn name`, `struct Name`, `macro_rules! name`, and so on.
    fn defined(&mut self, tokens: &[TokenTree], module: usize) {
        const KINDS: [&str; 10] = [
            "fn",
            "struct",
            "enum",
            "union",
            "trait",
            "type",
            "const",
            "static",
            "mut",
            "macro_rules",
        ];
        let kind = tokens.first().and_then(word);
        let mut rest = tokens[1..].iter().filter(|token| !is(token, '!'));
        let name = rest.next().and_then(word);
        if let Some(name) = name.filter(|_| kind.is_some_and(|kind| KINDS.contains(&kind.as_str())))
        {
            self.modules[module].defines.insert(name);
        }
    }

    /// Reads the tokens between `use` and `;`.
    fn imports(&mut self, tokens: &[TokenTree], mut prefix: Path, module: usize) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let TokenTree::Group(group) = token {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in inner.split(|token| is(token, ',')) {
                    self.imports(part, prefix.clone(), module);
                }
            }
            if is(token, '*') {
                self.modules[module].globs.push(prefix.clone());
                self.modules[module].paths.push(prefix.clone());
            }
            let Some(name) = word(token) else {
                at += 1;
                continue;
            };
            if tokens.get(at + 1).is_some_and(|next| is(next, ':')) {
                prefix.push(name);
                at += 3;
                continue;
            }
            let alias = match tokens.get(at + 1).and_then(word).as_deref() {
                Some("as") => tokens.get(at + 2).and_then(word),
                _ => None,
            };
            // `use plan::{self}` is `use plan`.
            if name != "self" {
                prefix.push(name);
            }
            let module = &mut self.modules[module];
            if let Some(name) = alias.or(prefix.last().cloned()) {
                module.uses.insert(name, prefix.clone());
            }
            module.paths.push(prefix);
            return;
        }
    }

    /// Returns the module that a path leads to, or `None` if the path belongs to another crate.
    fn resolve(&self, module: usize, path: &[String], depth: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.inside(0, rest, depth),
            "self" => self.inside(module, rest, depth),
            "super" => self.inside(self.modules[module].parent?, rest, depth),
            name => self.named(module, name, rest, depth),
        }
    }

    fn inside(&self, module: usize, path: &[String], depth: usize) -> Option<usize> {
        match path.split_first() {
            None => Some(module),
            Some((first, rest)) if first == "super" => {
                self.inside(self.modules[module].parent?, rest, depth)
            }
            Some((first, rest)) => self.named(module, first, rest, depth).or(Some(module)),
        }
    }

    /// Resolves a name in a module. The name may be defined in the module, imported by name, or
    /// imported by a glob.
    fn named(&self, at: usize, name: &str, rest: &[String], depth: usize) -> Option<usize> {
        let depth = depth.checked_sub(1)?;
        let module = &self.modules[at];
        if let Some(&child) = module.children.get(name) {
            return self.inside(child, rest, depth);
        }
        if module.defines.contains(name) {
            return Some(at);
        }
        if let Some(path) = module.uses.get(name) {
            let path: Path = path.iter().chain(rest).cloned().collect();
            return self.resolve(at, &path, depth);
        }
        module.globs.iter().find_map(|glob| {
            let from = self.resolve(at, glob, depth).filter(|&from| from != at)?;
            self.named(from, name, rest, depth)
        })
    }
}

/// Joins a path to a folder, and resolves each `..` in the path.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Files {
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    /// Returns the edges in a crate, as `a>b`, without `src/` and `.rs`.
    fn found(sources: &[(&str, &str)]) -> Vec<String> {
        let files = files(sources);
        let short = |path: &str| path.trim_start_matches("src/").trim_end_matches(".rs").to_owned();
        let edges = edges(&files).unwrap();
        edges.iter().map(|(from, to)| format!("{}>{}", short(from), short(to))).collect()
    }

    /// Returns the imports of a file `src/a.rs` that has two other files beside it.
    fn of_a(text: &str) -> Vec<String> {
        let text = &format!("fn own() {{}} {text}");
        found(&[
            ("src/lib.rs", "mod a; pub mod b; mod c; pub use b::{B, inner::Deep as Shallow};"),
            ("src/a.rs", text),
            ("src/b.rs", "pub struct B; pub mod inner { pub struct Deep; pub fn f() {} }"),
            ("src/c.rs", "pub enum C { One } pub const D: u8 = 1; macro_rules! m { () => {} }"),
        ])
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        for text in [
            "use crate::b;",
            "use crate::b::B;",
            "use crate::{b::{self, B}};",
            "pub(crate) use crate::b::*;",
            "use super::b::inner::f as g;",
            "fn f() { use self::super::b::B; }",
            "fn f() { crate::b::inner::f() }",
            "fn f(b: &super::b::B) -> u8 { 1 }",
            "const fn f() {} fn g() { assert!(crate::b::inner::f() == ()); }",
            "struct S<T = super::b::B>(T);",
            "struct S(pub (super::b::B, u8));",
            "fn f() { g(crate::b::inner::f()) }",
            "#[cfg(unix)] use crate::b::B;",
        ] {
            assert_eq!(of_a(text), ["a>b"], "{text}");
        }
        assert_eq!(of_a("use super::{b::B, c::{C, D}};"), ["a>b", "a>c"]);
        assert_eq!(of_a("fn f() { use crate::c; c::C::One; b::f(); }"), ["a>c"]);
    }

    #[test]
    fn names_that_are_passed_on_count_for_where_they_come_from() {
        assert_eq!(of_a("use crate::B;"), ["a>b"]);
        assert_eq!(of_a("fn f() { super::Shallow::new() }"), ["a>b"]);
        let room = |use_: &str| {
            found(&[
                ("src/lib.rs", "//! Docs.\n#![warn(missing_docs)]\nmod a; pub mod room;"),
                ("src/a.rs", use_),
                ("src/room/mod.rs", "pub(crate) mod x; mod y; pub use x::*; pub use self::y::Y;"),
                ("src/room/x.rs", "pub struct X;"),
                ("src/room/y.rs", "use super::X; pub struct Y(X);"),
            ])
        };
        assert_eq!(room("use crate::room::X; fn f() {}"), ["a>room/x", "room/y>room/x"]);
        assert_eq!(room("use crate::room; fn f(_: room::Y) {}"), ["a>room/y", "room/y>room/x"]);
        // A file that only declares modules imports nothing.
        assert_eq!(room("use crate::room; fn f() {}"), ["room/y>room/x"]);
    }

    #[test]
    fn comments_strings_tests_and_other_crates_are_no_imports() {
        for text in [
            "// use crate::b;\n/// [`crate::b::B`] /* crate::c */\nfn f() {}",
            "const S: &str = \"crate::b::B\"; const R: &str = r#\"use crate::b;\"#;",
            "fn f() { b::f(); std::b::f(); other::crate_::b(); }",
            "#[cfg(test)] mod tests { use super::*; use crate::b::B; }",
            "#[cfg(test)] use crate::b::B; fn f<'b>(b: &'b u8) { b.b() }",
            "mod inside { use super::g; } fn g() { self::inside::h() }",
            "#![custom(crate::b::B)] #[custom(crate::b::B)] fn f() {}",
        ] {
            assert_eq!(of_a(text), [""; 0], "{text}");
        }
        // Items that follow a test are read.
        assert_eq!(of_a("#[cfg(test)] mod t { use crate::c; } use crate::b::B;"), ["a>b"]);
    }

    #[test]
    fn a_module_with_code_of_its_own_counts() {
        let with = |code: &str| {
            found(&[
                ("src/lib.rs", "mod room;"),
                ("src/room/mod.rs", &format!("mod x; use x::X; {code}")),
                ("src/room/x.rs", "use super::f; pub struct X;"),
            ])
        };
        assert_eq!(with("pub fn f() {}"), ["room/mod>room/x", "room/x>room/mod"]);
        assert_eq!(with("pub use x::f;"), [""; 0]);
    }

    /// A file in a module's folder is not a root, and a variable is not a module.
    #[test]
    fn modules_lie_in_the_folder_of_their_own_module() {
        let sources = [
            ("src/lib.rs", "mod a; fn f(a: u8) -> u8 { a }"),
            ("src/a.rs", "mod b; fn f() { b::g() }"),
            ("src/a/b.rs", "pub fn g() {}"),
        ];
        assert_eq!(found(&sources), ["a>a/b"]);
    }

    #[test]
    fn programs_and_tests_are_crates_of_their_own() {
        let found = found(&[
            ("src/lib.rs", "pub fn f() {}"),
            ("src/main.rs", "mod only; fn main() { only::run() }"),
            ("src/only.rs", "pub fn run() {}"),
            ("tests/a.rs", "mod common; #[test] fn t() { common::help(); }"),
            ("tests/b/main.rs", "#[path = \"../common/mod.rs\"] mod help; mod c; fn f() {}"),
            ("tests/b/c.rs", "use crate::help::more::deep; fn f() { deep() }"),
            ("tests/common/mod.rs", "mod more; pub fn help() {}"),
            ("tests/common/more.rs", "pub fn deep() {}"),
        ]);
        let tests = ["tests/a>tests/common/mod", "tests/b/c>tests/common/more"];
        assert_eq!(found, [&["main>only"][..], &tests].concat());
    }

    #[test]
    fn what_is_no_rust_and_what_is_not_there_is_named() {
        let error =
            |text: &str| format!("{:#}", edges(&files(&[("src/lib.rs", text)])).unwrap_err());
        assert!(error("fn f( {").contains("src/lib.rs is not valid Rust"), "{}", error("fn f( {"));
        assert_eq!(error("mod gone;"), "there is no src/gone.rs");
        assert_eq!(error("#[path = \"../gone.rs\"] mod gone;"), "there is no gone.rs");
        // Paths in other crates are ignored.
        assert_eq!(found(&[("src/lib.rs", "#[path = \"../../b/src/a.rs\"] mod a;")]), [""; 0]);
        // Names that only re-export each other resolve to nothing.
        assert_eq!(of_a("use self::x::y; mod x { pub use super::y; } fn f() { y::z() }"), [""; 0]);
    }
}
