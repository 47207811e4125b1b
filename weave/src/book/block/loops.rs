//! Implements `{{loops STUDY COUNT…}}`, which shows the loads and additions in a loop's machine
//! code, in order.

use anyhow::{Context, Result, ensure};

use super::highlight::{self, Language};
use crate::book::source::{Sources, file::read};

/// Returns a line for each number of accumulators.
pub(crate) fn html(sources: &Sources, study: &str, counts: &[&str]) -> Result<String> {
    let line = |count: &&str| -> Result<String> {
        let name = format!("{study}-{count}-accumulators");
        let path = sources.generated().join("sass").join(format!("{name}.sass"));
        let text = read(&path).context("`cargo x sass` writes it")?;
        let module = format!("studies/{study}/src/accumulators.f32.ptx");
        let stamp = compiler::Stamp::read(&read(&sources.root.join(&module))?, &module)?;
        ensure!(
            text.contains(&stamp.body),
            "{name}.sass is older than {module}: run `cargo x sass`"
        );
        let order = order(&text).with_context(|| format!("{name}.sass has no loop with loads"))?;
        Ok(format!("{count:>2} accumulator{:<2}{order}", if *count == "1" { "" } else { "s" }))
    };
    let lines = counts.iter().map(line).collect::<Result<Vec<_>>>()?;
    Ok(format!("\n{}\n", highlight::listing(Language::Plain, &(lines.join("\n") + "\n"))))
}

/// Finds the loop with the most loads. Writes `L` for each load and, for each addition, the number
/// of the load whose value the addition uses.
fn order(text: &str) -> Option<String> {
    let loops = text.split("\n.L").filter_map(|block| {
        let (label, code) = block.split_once(":\n")?;
        let back = format!("BRA `(.L{label})");
        // Code after the branch is not part of the loop.
        let end = code.find(&back)?;
        Some(&code[..end])
    });
    let code = loops.max_by_key(|code| code.matches("LDG").count())?;
    // The registers that the loads write, in order.
    let mut loads: Vec<&str> = Vec::new();
    let mut order: Vec<String> = Vec::new();
    for line in code.lines() {
        let mut words = line.split_whitespace().skip_while(|word| word.starts_with('@'));
        let Some(opcode) = words.next() else { continue };
        let operands: Vec<&str> = words.collect();
        let register = |word: &&str| word.trim_end_matches([',', ';']).to_owned();
        if opcode.starts_with("LDG") {
            loads.push(operands.first()?.trim_end_matches(','));
            order.push("L".into());
        } else if opcode == "FADD" {
            let used = operands.iter().skip(1).map(register);
            let load = used.filter_map(|used| loads.iter().rposition(|load| *load == used)).max();
            order.extend(load.map(|load| (load + 1).to_string()));
        }
    }
    (!loads.is_empty()).then(|| order.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_are_numbered_by_their_loads() {
        let text = "head\n.L_x_1:\n    LDG.E R1, desc[UR4][R2.64] ;\n    @P0 LDG.E R4, desc[UR4][R2.64+0x400] ;\n    FADD R6, R1, R6 ;\n    LDG.E R1, desc[UR4][R2.64] ;\n    FADD R7, R4, R7 ;\n    FADD R6, R6, R1 ;\n    @!P1 BRA `(.L_x_1) ;\n.L_x_2:\n    LDG.E R9, desc[UR4][R2.64] ;\n    @P0 BRA `(.L_x_2) ;\n";
        assert_eq!(order(text).unwrap(), "L L 1 L 2 3");
        assert_eq!(order(".L_x_1:\n    FADD R1, R1, R2 ;\n"), None);
    }
}
