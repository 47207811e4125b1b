//! Reads paths and attributes from the tokens of a source.

use proc_macro2::{Delimiter, TokenTree};

/// The segments of a path in a source, such as `crate`, `plan`, `Block`.
pub(crate) type Path = Vec<String>;

/// Returns the segments of the path that these tokens begin with.
pub(crate) fn path(tokens: &[TokenTree]) -> Path {
    let mut path = Path::new();
    let mut rest = tokens;
    while let Some(name) = rest.first().and_then(word) {
        path.push(name);
        match rest {
            [_, a, b, TokenTree::Ident(_), ..] if is(a, ':') && is(b, ':') => rest = &rest[3..],
            _ => break,
        }
    }
    path
}

/// Returns the identifier of a token.
pub(crate) fn word(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    }
}

/// Returns whether a token is this punctuation mark.
pub(crate) fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// Returns the path in an attribute `#[path = "…"]`.
pub(crate) fn placed(attribute: &TokenTree) -> Option<String> {
    let TokenTree::Group(group) = attribute else { return None };
    let text = group.stream().to_string();
    let place = text.strip_prefix("path")?.trim_start().strip_prefix('=')?;
    Some(place.trim().trim_matches('"').to_owned())
}

/// Returns the position after an attribute and, if the attribute's item is only for tests, after
/// the item.
pub(crate) fn after_attribute(tokens: &[TokenTree], at: usize) -> usize {
    let Some(TokenTree::Group(group)) = tokens.get(at + 1) else {
        return at + if tokens.get(at + 1).is_some_and(|token| is(token, '!')) { 3 } else { 1 };
    };
    let text: String = group.stream().to_string().split_whitespace().collect();
    if text != "cfg(test)" {
        return at + 2;
    }
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is(token, ';'),
    };
    tokens[at..].iter().position(ends).map_or(tokens.len(), |end| at + end + 1)
}
