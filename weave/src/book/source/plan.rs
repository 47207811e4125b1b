//! The plans that steps make for an H200.

use anyhow::{Context, Result, anyhow};
use common::{
    Element,
    plan::{Block, Chip, Plan, Problem},
};

/// Returns the plan that a step or a variant makes for an H200.
pub(crate) fn of(step: &str, n: u64, threads: u32) -> Result<Plan> {
    let step = ladder::steps_and_ways()
        .find(|known| known.name == step)
        .with_context(|| format!("the ladder has no step `{step}`"))?;
    let block = Block::new(threads).map_err(|e| anyhow!("{e}"))?;
    let problem =
        Problem { n, block: step.block(Some(block)), element: Element::F32, chip: Chip::H200 };
    Ok((step.plan)(&problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_has_a_plan_of_its_own() {
        let blocks = |name: &str| of(name, 1 << 16, 256).unwrap().launches[0].grid;
        assert_eq!(["v8-wide-loads", "v8-wide-loads/one-word"].map(blocks), [8, 64]);
        assert!(of("v8-wide-loads/gone", 1 << 16, 256).is_err());
    }
}
