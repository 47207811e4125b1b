//! Resolves names that were abbreviated on the command line.

use common::{Error, Result};

/// Returns the matching name: the name that equals the word, or the only name that begins with the
/// word. `v1` does not match `v10`, and a step takes precedence over its variants.
pub(crate) fn find<'n>(names: &'n [String], text: &str) -> Result<&'n str> {
    if let Some(name) = names.iter().find(|name| *name == text) {
        return Ok(name);
    }
    let number = format!("{text}-");
    let classes: [&dyn Fn(&str) -> bool; 3] = [
        &|name| name.starts_with(&number) && !name.contains('/'),
        &|name| name.starts_with(text) && !name.contains('/'),
        &|name| name.starts_with(text),
    ];
    let matching = |class: &&dyn Fn(&str) -> bool| -> Vec<&'n str> {
        names.iter().map(String::as_str).filter(|name| class(name)).collect()
    };
    let found = classes.iter().map(matching).find(|matching| !matching.is_empty());
    match found.as_deref() {
        Some([name]) => Ok(name),
        None => Err(Error::Usage(format!(
            "`{text}` is neither a step nor another competitor: use {}",
            names.join(", ")
        ))),
        Some(some) => Err(Error::Usage(format!(
            "`{text}` is ambiguous: it may be {}; type more of the name",
            some.join(" or ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_name_is_enough() {
        let names = ["v1-divergence", "v2-bank-conflicts", "cub", "cub-atomic"].map(String::from);
        assert_eq!(find(&names, "v2").unwrap(), "v2-bank-conflicts");
        assert_eq!(find(&names, "cub").unwrap(), "cub");
        let more = ["v1-divergence", "v10-tree", "v1-divergence/and", "v1-divergence/or", "x/y"];
        let more = more.map(String::from);
        for (text, name) in
            [("v1", "v1-divergence"), ("v1-d", "v1-divergence"), ("v10", "v10-tree"), ("x", "x/y")]
        {
            assert_eq!(find(&more, text).unwrap(), name);
        }
        assert!(find(&more, "v1-divergence/").unwrap_err().to_string().contains("/and or v1-"));
        for (text, why) in [("v", "v1-divergence or v2-"), ("x", "neither a step"), ("", "may be")]
        {
            let message = find(&names, text).unwrap_err().to_string();
            assert!(message.contains(why), "{message}");
        }
    }
}
