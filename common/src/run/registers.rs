//! The numbers of registers that ptxas allocates for the committed kernels.

use crate::device::Ptx;

/// The number of registers per thread for each entry point, keyed by the hash in the stamp of its
/// PTX. `cargo x sass` writes this file.
#[cfg(not(target_family = "wasm"))]
const TABLE: &str = include_str!("../../../book/generated/sass/registers.csv");

/// Returns the number of registers per thread of a committed kernel; `None` for an edited kernel.
#[cfg(not(target_family = "wasm"))]
pub(super) fn of(ptx: &Ptx, entry: &str) -> Option<u32> {
    let hash = compiler::Stamp::read(&ptx.text, &ptx.file).ok()?.body;
    TABLE.lines().find_map(|line| {
        let mut cells = line.split(',');
        let is_same = cells.next() == Some(hash.as_str()) && cells.next() == Some(entry);
        cells.next().filter(|_| is_same)?.parse().ok()
    })
}

/// Returns `None`, because the PTX on a page of the book has no stamp. The number of registers is
/// then estimated.
#[cfg(target_family = "wasm")]
pub(super) fn of(_: &Ptx, _: &str) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unchanged_kernel_has_known_registers() {
        let text = "a,reduce,12\n";
        let kernel = TABLE.lines().nth(1).unwrap_or(text);
        assert_eq!(kernel.split(',').count(), 3, "{kernel}");
        let (origin, file) = (String::new(), String::from("k.ptx"));
        let body = ".version 8.4\n";
        let ptx = |text: String| Ptx {
            text,
            source: String::new(),
            origin: origin.clone(),
            file: file.clone(),
        };
        let stamped = compiler::Stamp::put(body, "source", "compiler");
        assert_eq!(of(&ptx(stamped), "reduce"), None);
        assert_eq!(of(&ptx(body.to_owned()), "reduce"), None);
    }
}
