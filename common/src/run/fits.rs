//! Checks a kernel's name and parameters against a plan, because a device would report a less
//! specific error.

use crate::{
    Error, Result,
    device::{Ptx, ptx},
    plan::{Arg, Buffer, Launch, Plan, Scratch},
};

/// Checks the launches in a plan against the entry points in PTX.
pub(super) fn fits(plan: &Plan, ptx: &Ptx) -> Result<()> {
    let entries = ptx::entries(&ptx.text);
    for launch in &plan.launches {
        if !entries.contains(&launch.entry) {
            let (file, entry) = (ptx.file.clone(), launch.entry.clone());
            return Err(Error::NoEntry { file, entry, entries });
        }
        let takes = ptx::takes(&ptx.text, &launch.entry);
        let given = launch.args.iter().map(size);
        // If the PTX cannot be parsed, the device reports the error.
        if given.clone().eq(takes.iter().map(|bytes| bytes.unwrap_or(0)))
            || takes.contains(&None) && takes.len() == launch.args.len()
        {
            continue;
        }
        let names = ptx::parameters(&ptx.source, &launch.entry);
        return Err(Error::Signature {
            file: ptx.file.clone(),
            entry: launch.entry.clone(),
            passes: passes(launch, &plan.scratch),
            takes: describe(&takes, &names),
        });
    }
    Ok(())
}

/// Returns the size of an argument, in bytes.
fn size(arg: &Arg) -> u32 {
    match arg {
        Arg::Address(_) | Arg::U64(_) => 8,
        Arg::U32(_) => 4,
    }
}

/// Describes the arguments of a launch.
fn passes(launch: &Launch, scratch: &[Scratch]) -> String {
    let arg = |arg: &Arg| match *arg {
        Arg::Address(Buffer::Input) => "the address of the elements".to_owned(),
        Arg::Address(Buffer::Result) => "the address of the sum".to_owned(),
        Arg::Address(Buffer::Scratch(index)) => match scratch.get(index) {
            Some(Scratch::Zeroed(_)) => "the address of zeroed memory",
            Some(Scratch::Messages(_)) => "the address of message slots",
            Some(Scratch::Partials(_)) | None => "the address of partial sums",
        }
        .to_owned(),
        Arg::U64(value) => format!("the 64-bit number {value}"),
        Arg::U32(value) => format!("the 32-bit number {value}"),
    };
    let all: Vec<String> = launch.args.iter().map(arg).collect();
    format!("{} ({})", numbered(all.len(), "argument"), all.join(", "))
}

/// Describes the kernel's parameters.
fn describe(takes: &[Option<u32>], names: &[&str]) -> String {
    let named = names.len() == takes.len();
    let one = |(index, bytes): (usize, &Option<u32>)| {
        let name = if named { format!("`{}`, ", names[index]) } else { String::new() };
        match bytes {
            Some(bytes) => format!("{name}{} bits", 8 * bytes),
            None => format!("{name}a structure"),
        }
    };
    let all: Vec<String> = takes.iter().enumerate().map(one).collect();
    match all.as_slice() {
        [] => "none".to_owned(),
        _ => format!("{} ({})", takes.len(), all.join("; ")),
    }
}

fn numbered(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Element,
        plan::{Block, Chip, Phase, Problem},
    };

    fn plan() -> Plan {
        let problem =
            Problem { n: 7, block: Block::USUAL, element: Element::F32, chip: Chip::H200 };
        let entry = "reduce".into();
        Plan::until_one(&problem, &Phase { entry, tile: 64, shared: 0, depth: 6 })
    }

    fn said(signature: &str, source: &str) -> String {
        let text =
            format!(".version 8.4\n.target sm_60\n.visible .entry {signature}\n{{ ret; }}\n");
        let (origin, file) = (String::new(), "kernel.cu".into());
        let ptx = Ptx { text, source: source.into(), origin, file };
        fits(&plan(), &ptx).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn matching_parameters_pass() {
        assert_eq!(
            said("reduce(\n\t.param .u64 reduce_param_0,\n\t.param .u64 b,\n.param .b64 c\n)", ""),
            ""
        );
        assert_eq!(
            said("reduce(.param .u64 .ptr .global .align 4 a, .param .u64 b, .param .u64 c)", ""),
            ""
        );
        assert_eq!(said("reduce(.param .align 8 .b8 a[8], .param .u64 b, .param .u64 c)", ""), "");
    }

    #[test]
    fn a_wrong_signature_is_reported_with_both_sides() {
        let source = "extern \"C\" __global__ void reduce(const Element* in, Element* out, unsigned int n) {}";
        assert_eq!(
            said("reduce(.param .u64 a, .param .u64 b, .param .u32 c)", source),
            "the host passes 3 arguments (the address of the elements, the address of the sum, the 64-bit number 7) to `reduce`, but the kernel in kernel.cu takes 3 (`in`, 64 bits; `out`, 64 bits; `n`, 32 bits): declare the host's parameters, in the same order"
        );
        assert!(said("reduce(.param .u64 a)", "").contains("takes 1 (64 bits): declare"));
        assert!(said("reduce()", "").contains("takes none: declare"));
    }

    #[test]
    fn a_missing_extern_c_is_recognised() {
        let said = said("_Z6reducePKfPfy(.param .u64 a)", "");
        assert!(
            said.contains("`_Z6reducePKfPfy` is the mangled name of `reduce`: write `extern \"C\"` before its `__global__`"),
            "{said}"
        );
    }
}
