//! Finds import cycles, because no file in a cycle can be understood without the others.

use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of files in a cycle.
const MOST: usize = 2;

/// Returns a message for each cycle that is too large.
pub(crate) fn faults(name: &str, edges: &BTreeSet<(&str, &str)>) -> Vec<String> {
    let large = circles(edges).into_iter().filter(|circle| circle.len() > MOST);
    large
        .map(|circle| {
            let files: Vec<String> = circle
                .iter()
                .map(|file| {
                    let inside =
                        edges.iter().filter(|(from, to)| from == file && circle.contains(to));
                    let inside: Vec<&str> = inside.map(|(_, to)| *to).collect();
                    format!("{file} imports {}", inside.join(", "))
                })
                .collect();
            format!(
                "{name}: {} files import each other in a cycle, but at most {MOST} may:\n    {}",
                circle.len(),
                files.join("\n    ")
            )
        })
        .collect()
}

/// Returns the strongly connected components: sets of files that can be reached from each other.
fn circles<'f>(edges: &BTreeSet<(&'f str, &'f str)>) -> BTreeSet<BTreeSet<&'f str>> {
    let mut to: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, target) in edges {
        to.entry(from).or_default().insert(target);
    }
    // A crate has at most a hundred files, so starting a walk from each file is cheap.
    let reached = |file| {
        let mut reached = BTreeSet::new();
        let mut next = vec![file];
        while let Some(file) = next.pop() {
            next.extend(
                to.get(file).into_iter().flatten().filter(|target| reached.insert(**target)),
            );
        }
        reached
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        to.keys().map(|file| (*file, reached(*file))).collect();
    let both =
        |a: &str, b: &str| reached[a].contains(b) && reached.get(b).is_some_and(|r| r.contains(a));
    let circle = |file: &&'f str| to.keys().copied().filter(|other| both(file, other)).collect();
    to.keys().map(circle).filter(|circle: &BTreeSet<_>| !circle.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(edges: &[(&str, &str)]) -> String {
        faults("crate", &edges.iter().copied().collect()).join("\n")
    }

    #[test]
    fn a_circle_of_three_is_named_with_what_each_imports() {
        let text = named(&[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e")]);
        let lines = ["a imports b", "b imports c", "c imports a"].join("\n    ");
        assert_eq!(
            text,
            format!("crate: 3 files import each other in a cycle, but at most 2 may:\n    {lines}")
        );
    }

    #[test]
    fn pairs_and_trees_may_be() {
        assert_eq!(named(&[]), "");
        assert_eq!(named(&[("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"), ("a", "c")]), "");
        assert_eq!(named(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]), "");
        // Two pairs that share a file form one cycle.
        assert!(named(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]).contains("3 files"));
    }

    #[test]
    fn circles_that_do_not_touch_are_told_apart() {
        let ring = |names: [&'static str; 3]| [0, 1, 2].map(|at| (names[at], names[(at + 1) % 3]));
        let edges = [ring(["a", "b", "c"]), ring(["x", "y", "z"]), [("c", "x"); 3]].concat();
        assert_eq!(named(&edges).matches("3 files").count(), 2);
    }
}
