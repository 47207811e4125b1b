//! Colours syntax at build time: CUDA, PTX, SASS, Rust, diffs and consoles.
//!
//! mdBook's own highlighter supports neither CUDA nor PTX, and runs only in the browser.

/// A language that is highlighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Cuda,
    Ptx,
    Sass,
    Rust,
    Diff,
    Console,
    Plain,
}

impl Language {
    /// Returns the language that a fence's info string names.
    pub(crate) fn of(info: &str) -> Option<Language> {
        Some(match info.split([',', ' ']).next().unwrap_or_default() {
            "cpp" | "cuda" | "c" | "c++" => Language::Cuda,
            "ptx" => Language::Ptx,
            "sass" => Language::Sass,
            "rust" | "rs" => Language::Rust,
            "diff" => Language::Diff,
            "console" | "sh" | "shell" | "bash" => Language::Console,
            "text" | "txt" | "toml" | "csv" | "" => Language::Plain,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Language::Cuda => "cpp",
            Language::Ptx => "ptx",
            Language::Sass => "sass",
            Language::Rust => "rust",
            Language::Diff => "diff",
            Language::Console => "console",
            Language::Plain => "text",
        }
    }
}

const CUDA: &str = "alignas auto bool break case char const constexpr continue default do double else extern float for if inline int long namespace return short signed sizeof static struct switch template typename union unsigned using void volatile while __global__ __device__ __shared__ __host__ __restrict__ __launch_bounds__";
const CUDA_BUILTIN: &str = "threadIdx blockIdx blockDim gridDim warpSize Element __syncthreads __syncwarp __shfl_down_sync __shfl_xor_sync __shfl_sync atomicAdd atomicInc __threadfence float4 int4 double2 asm";
const RUST: &str = "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type use where while";
const PTX_BUILTIN: &str = "reg visible entry param version target address_size extern shared global align func loc file weak const local maxntid";

/// Formats a listing as `<pre>` with coloured spans. A class with the name of a language would
/// start mdBook's own highlighter.
pub(crate) fn listing(language: Language, code: &str) -> String {
    let code = code.trim_end_matches('\n');
    let body: String = match language {
        Language::Diff => code.lines().map(diff_line).collect::<Vec<_>>().join("\n"),
        Language::Console => code.lines().map(console_line).collect::<Vec<_>>().join("\n"),
        _ => colour(language, code),
    };
    let name = language.name();
    format!("<pre><code class=\"nohighlight hljs code-{name}\">{body}\n</code></pre>")
}

/// Formats a line from a diff of CUDA code, coloured both as a diff and as CUDA.
fn diff_line(line: &str) -> String {
    let (class, mark, code) = match line.chars().next() {
        _ if line.starts_with("+++") || line.starts_with("---") || line.starts_with("@@") => {
            return format!("<span class=\"d-head\">{}</span>", escape(line));
        }
        Some('+') => ("d-new", "+", &line[1..]),
        Some('-') => ("d-old", "-", &line[1..]),
        Some(' ') => return format!(" {}", colour(Language::Cuda, &line[1..])),
        _ => return escape(line),
    };
    format!("<span class=\"{class}\">{mark}{}</span>", colour(Language::Cuda, code))
}

fn console_line(line: &str) -> String {
    match line.strip_prefix("$ ") {
        Some(command) => {
            format!(
                "<span class=\"c-prompt\">$ </span><span class=\"c-command\">{}</span>",
                escape(command)
            )
        }
        None => escape(line),
    }
}

/// Wraps the tokens of code in coloured spans.
fn colour(language: Language, code: &str) -> String {
    let mut out = String::with_capacity(2 * code.len());
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let comment = match language {
            Language::Plain => false,
            _ => rest.starts_with("//") || rest.starts_with("/*"),
        };
        let (class, length) = match first {
            _ if comment => ("hljs-comment", comment_end(rest)),
            _ if language == Language::Plain => ("", rest.len()),
            '"' => ("hljs-string", 1 + rest[1..].find('"').map_or(rest.len() - 1, |end| end + 1)),
            '#' if language == Language::Cuda || language == Language::Rust => {
                ("hljs-meta", word(&rest[1..]) + 1)
            }
            '%' | '$' if language == Language::Ptx => ("hljs-variable", 1 + word(&rest[1..])),
            '@' if language == Language::Ptx || language == Language::Sass => ("hljs-keyword", 1),
            '.' if language == Language::Ptx => {
                let length = 1 + word(&rest[1..]);
                let known = listed(PTX_BUILTIN, &rest[1..length]);
                (if known { "hljs-keyword" } else { "hljs-type" }, length.max(1))
            }
            c if c.is_ascii_digit() => ("hljs-number", number(rest)),
            c if c.is_alphabetic() || c == '_' => {
                let length = word(rest);
                (identifier(language, &rest[..length], &rest[length..], &out), length)
            }
            c => ("", c.len_utf8()),
        };
        let text = escape(&rest[..length]);
        match class {
            "" => out += &text,
            class => out += &format!("<span class=\"{class}\">{text}</span>"),
        }
        rest = &rest[length..];
    }
    out
}

fn identifier(language: Language, name: &str, after: &str, before: &str) -> &'static str {
    let opens_line = || before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
    match language {
        Language::Cuda if listed(CUDA, name) => "hljs-keyword",
        Language::Cuda if listed(CUDA_BUILTIN, name) => "hljs-built_in",
        Language::Rust if listed(RUST, name) => "hljs-keyword",
        Language::Rust if name.starts_with(char::is_uppercase) => "hljs-type",
        Language::Cuda | Language::Rust if after.starts_with('(') => "hljs-title",
        // The opcode is the first word on a line, or the word after a guard.
        Language::Ptx if after.starts_with('.') || opens_line() => "hljs-built_in",
        Language::Ptx => "",
        Language::Sass if is_register(name) => "hljs-variable",
        Language::Sass if name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit()) => {
            "hljs-built_in"
        }
        _ => "",
    }
}

/// Returns whether a name is a register: `R12`, `UR4`, `P0`, `UP1`, `RZ`, `PT`, `SR_TID`.
fn is_register(name: &str) -> bool {
    let bare = name.strip_prefix('U').unwrap_or(name);
    let tail = bare.strip_prefix(['R', 'P']).unwrap_or("-");
    name.starts_with("SR_")
        || ["Z", "T"].contains(&tail)
        || (!tail.is_empty() && tail.chars().all(|c| c.is_ascii_digit()))
}

fn listed(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

fn number(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').unwrap_or(text.len())
}

fn comment_end(text: &str) -> usize {
    match text.starts_with("//") {
        true => text.find('\n').unwrap_or(text.len()),
        false => text.find("*/").map_or(text.len(), |end| end + 2),
    }
}

/// Escapes text for HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_is_coloured() {
        let html = listing(Language::Cuda, "if (tid < 32u) shared[tid] += 1; // Sums.\n");
        assert!(html.contains("<span class=\"hljs-keyword\">if</span> (tid &lt; "), "{html}");
        assert!(html.contains("<span class=\"hljs-comment\">// Sums.</span>"), "{html}");
        assert!(html.contains("<span class=\"hljs-number\">32u</span>"), "{html}");
    }

    #[test]
    fn a_diff_shows_both_sides() {
        let html = listing(Language::Diff, "-int a;\n+int b;\n c\n");
        assert!(
            html.contains(
                "<span class=\"d-old\">-<span class=\"hljs-keyword\">int</span> a;</span>"
            ),
            "{html}"
        );
        assert!(html.contains("d-new"), "{html}");
    }

    #[test]
    fn registers_are_not_opcodes() {
        assert!(["R1", "UR12", "RZ", "P0", "UPT", "SR_TID"].iter().all(|name| is_register(name)));
        assert!(!["RET", "PRMT", "BAR", "R", "EXIT"].iter().any(|name| is_register(name)));
    }

    #[test]
    fn highlighting_keeps_all_text() {
        let code = "a\u{b5} \"x\" % $ # .. @ 1.5f /* z */ é\n";
        for language in
            [Language::Cuda, Language::Ptx, Language::Sass, Language::Rust, Language::Plain]
        {
            let html = colour(language, code);
            let mut text = String::new();
            let mut inside = false;
            for c in html.chars() {
                match c {
                    '<' => inside = true,
                    '>' => inside = false,
                    c if !inside => text.push(c),
                    _ => {}
                }
            }
            assert_eq!(text.replace("&quot;", "\""), code, "{language:?}");
        }
    }
}
