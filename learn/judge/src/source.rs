//! Checks the source for what its PTX cannot show: other PTX for another GPU or compiler, and assembly
//! whose order the compiler may change.

use crate::verdict::{Failure, Stage};

/// The beginnings of macros that differ between GPUs, compilers and compilations.
const MACROS: [&str; 8] =
    ["__CUDA_ARCH", "__CUDACC", "__NVCC", "__clang", "__GNUC", "__DATE__", "__TIME", "__COUNTER__"];

/// The beginnings of instructions that order accesses to memory, or that access memory.
const ORDERS: [&str; 10] = [
    "bar.",
    "barrier.",
    "membar",
    "fence",
    "mbarrier.",
    "cp.",
    "st.",
    "red.",
    "atom.",
    "multimem.",
];

/// Checks a source.
pub(crate) fn source(source: &str) -> Result<(), Box<Failure>> {
    let code = without_comments(source);
    let refused = |said: String, line| Err(Box::new(Failure::new(Stage::Right, said).at([line])));
    for (line, text) in (1..).zip(code.lines()) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut words = text.split(|c| !is_part(c));
        if let Some(word) = words.find(|word| MACROS.iter().any(|name| word.starts_with(name))) {
            let said = format!(
                "line {line} depends on `{word}`: write one kernel for all GPUs and compilers, because it is judged with one of them"
            );
            return refused(said, line);
        }
    }
    for (at, _) in code.match_indices("asm") {
        let Some(statement) = assembly(&code[at..]) else { continue };
        let orders = ORDERS.iter().find(|name| starts(statement, name));
        if let Some(name) = orders.filter(|_| !statement.contains("\"memory\"")) {
            let line = 1 + code[..at].matches('\n').count() as u32;
            let said = format!(
                "the assembly at line {line} has `{name}`, but not the clobber `\"memory\"`: without it, the compiler may move accesses to memory from one side of the assembly to the other"
            );
            return refused(said, line);
        }
    }
    Ok(())
}

/// Returns the statement of inline assembly at the start of a text: up to the parenthesis that ends
/// it.
fn assembly(text: &str) -> Option<&str> {
    let open = text.find('(')?;
    let before = &text[3..open];
    if !before.replace("volatile", "").replace('_', "").trim().is_empty() {
        return None;
    }
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (at, c) in text[open..].char_indices() {
        match c {
            '"' if !escaped => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        if depth == 0 {
            return Some(&text[..open + at]);
        }
    }
    None
}

/// Returns whether a word of a text starts with a name.
fn starts(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "_.%".contains(c))
    })
}

/// Replaces comments by blanks. Line breaks stay.
fn without_comments(source: &str) -> String {
    let (mut code, mut rest) = (String::new(), source);
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        code += &rest[..at];
        let comment = &rest[at..];
        let end = match comment.starts_with("//") {
            true => comment.find('\n').unwrap_or(comment.len()),
            false => comment[2..].find("*/").map_or(comment.len(), |end| end + 4),
        };
        code.extend(comment[..end].chars().filter(|c| *c == '\n'));
        rest = &comment[end..];
    }
    code + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<String> {
        source(text).err().map(|failure| failure.said)
    }

    #[test]
    fn a_macro_of_the_compiler_is_refused_outside_of_comments() {
        let found = said("a;\n#if __CUDA_ARCH__ >= 800\n").expect("a failure");
        assert!(found.starts_with("line 2 depends on `__CUDA_ARCH__`"), "{found}");
        assert_eq!(said("// __CUDA_ARCH__\n/* __clang__\n__TIME__ */ a;"), None);
    }

    #[test]
    fn assembly_that_orders_memory_needs_a_clobber() {
        let bare = said("/*\n*/ asm volatile(\"bar.sync 0;\" ::);").expect("a failure");
        assert!(bare.starts_with("the assembly at line 2 has `bar.`"), "{bare}");
        assert_eq!(said("asm volatile (\"bar.sync 0;\" ::: \"memory\");"), None);
        assert!(said("asm(\"{ .reg .pred p; st.u32 [%0], 1; }\" :: \"r\"(f(x)));").is_some());
        // No memory is involved, or the name is a part of another word.
        assert_eq!(said("asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(lane)); asmx(st.a);"), None);
        assert_eq!(said("asm(\"test.u32 %0;\" : \"=r\"(lane)); // asm(\"st.a;\""), None);
    }
}
