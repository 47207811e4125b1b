//! The machine code of every step, from the files that `cargo x sass` writes.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use xtask::kernels::Kernel;

use super::file::read;

/// The opcodes in a step's table, and their meanings.
pub(crate) const OPCODES: [(&str, &str); 9] = [
    ("BAR", "block barrier"),
    ("WARPSYNC", "warp barrier"),
    ("LDS", "load from shared memory"),
    ("STS", "store to shared memory"),
    ("SHFL", "shuffle"),
    ("LDG", "load from global memory"),
    ("STG", "store to global memory"),
    ("BRA", "branch"),
    ("all", "all instructions"),
];

/// The listings, by step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sass(BTreeMap<String, Listing>);

/// The machine code of one kernel.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// The committed text: comments at the beginning, then one instruction per line.
    pub(crate) text: String,
    /// Whether the PTX has changed since the text was written.
    stale: bool,
}

impl Sass {
    /// Reads the committed listings.
    pub(crate) fn read(folder: &Path, kernels: &[Kernel]) -> Result<Sass> {
        let mut all = BTreeMap::new();
        let Ok(entries) = fs::read_dir(folder.join("sass")) else { return Ok(Sass::default()) };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "sass") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let text = read(&path)?;
                let kernel = kernels.iter().find(|kernel| kernel.name.replace('/', "-") == name);
                let ptx = kernel.map(|kernel| kernel.folder.join(kernel.ptx("f32")));
                let ptx = ptx.map(|ptx| read(&ptx)).transpose()?;
                let stamp = ptx.map(|ptx| compiler::Stamp::read(&ptx, &name)).transpose()?;
                let head = text.lines().next().unwrap_or_default();
                let stale = stamp.is_none_or(|stamp| !head.contains(&stamp.body));
                all.insert(name, Listing { text, stale });
            }
        }
        Ok(Sass(all))
    }

    /// Returns the machine code of a step or variant. Fails if the PTX has changed since the
    /// machine code was written.
    pub(crate) fn get(&self, step: &str) -> Result<&Listing> {
        let listing = self.0.get(&step.replace('/', "-")).with_context(|| {
            format!("there is no machine code for `{step}` yet: run `cargo x sass`")
        })?;
        ensure!(
            !listing.stale,
            "the machine code of {step} is older than its PTX: run `cargo x sass`"
        );
        Ok(listing)
    }
}

impl Listing {
    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Listing {
        Listing { text: text.to_owned(), stale: false }
    }

    /// Returns the number of instructions with an opcode; `LDS` includes `LDS.64`.
    pub(crate) fn count(&self, opcode: &str) -> usize {
        self.opcodes().filter(|found| opcode == "all" || *found == opcode).count()
    }

    /// Returns the opcode of every instruction, without modifiers.
    fn opcodes(&self) -> impl Iterator<Item = &str> {
        self.full().filter_map(|opcode| opcode.split('.').next())
    }

    /// Returns the opcode of every instruction, with modifiers, in order.
    pub(crate) fn full(&self) -> impl Iterator<Item = &str> {
        let lines =
            self.text.lines().filter(|line| !line.starts_with("//") && !line.ends_with(':'));
        lines.filter_map(|line| {
            let mut words = line.split_whitespace();
            let first = words.next()?;
            let opcode = if first.starts_with('@') { words.next()? } else { first };
            Some(opcode.trim_end_matches(';'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_counted_without_guards_and_modifiers() {
        let text = "// head\n.L_x_0:\n  @!P0 BRA `(.L_x_0) ;\n  LDS.64 R0, [R1] ;\n  LDS R0, [R1] ;\n  BAR.SYNC.DEFER_BLOCKING 0x0 ;\n  EXIT ;\n";
        let listing = Listing::of(text);
        assert_eq!(["BRA", "LDS", "BAR", "STS", "all"].map(|o| listing.count(o)), [1, 2, 1, 0, 5]);
    }

    #[test]
    fn a_variant_is_found_by_its_name() {
        let all = [
            ("v8-wide".to_owned(), Listing::of("")),
            ("v8-wide-one".to_owned(), Listing::of("  EXIT ;\n")),
        ];
        let sass = Sass(BTreeMap::from(all));
        assert_eq!(sass.get("v8-wide/one").unwrap().count("EXIT"), 1);
        assert!(sass.get("v8-wide/two").is_err());
    }
}
