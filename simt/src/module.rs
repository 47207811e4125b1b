//! A loaded PTX module, whose kernels are ready to run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ParseError;
use crate::decode;
use crate::kernel::{Kernel, ModuleVar};
use crate::parse::ast::{Text, Var, VarSpace};
use crate::parse::{self, Lines};

/// A PTX module with at least one entry that can be run.
#[derive(Debug, Clone)]
pub struct Module {
    /// Identifies the module, because each module has its own global variables on a device.
    pub(crate) id: u64,
    pub(crate) kernels: Vec<Kernel>,
    refused: Vec<(String, Vec<ParseError>)>,
    /// The initial bytes of global and constant variables.
    pub(crate) image: Vec<u8>,
    /// For each address that is stored in the image: its offset in the image, and the offset in the
    /// image to which it points.
    pub(crate) addresses: Vec<(usize, u64)>,
}

/// Limit on the total size of a module's variables, in bytes. A larger size is probably a mistake.
const LARGEST_IMAGE: u64 = 1 << 28;

impl Module {
    /// Loads PTX. Entries that cannot be run are refused when they are launched.
    ///
    /// # Errors
    /// Returns the first error if no entry can be run.
    pub fn parse(text: &str) -> Result<Module, ParseError> {
        Module::load(text)
            .map_err(|errors| errors.into_iter().next().expect("a failure has an error"))
    }

    /// Returns the errors of all parts of the PTX that cannot be run.
    pub fn missing(text: &str) -> Vec<ParseError> {
        match Module::load(text) {
            Ok(module) => module.refused.into_iter().flat_map(|(_, errors)| errors).collect(),
            Err(errors) => errors,
        }
    }

    fn load(source: &str) -> Result<Module, Vec<ParseError>> {
        let lines = Lines::new(source);
        let text = parse::parse(source, &lines).map_err(|e| vec![e])?;
        let mut offsets = Vec::with_capacity(text.vars.len());
        let mut image: Vec<u8> = Vec::new();
        for var in &text.vars {
            if !matches!(var.space, VarSpace::Global | VarSpace::Const) {
                offsets.push(0);
                continue;
            }
            let offset = (image.len() as u64).next_multiple_of(var.align.into());
            if offset + var.bytes > LARGEST_IMAGE {
                return Err(vec![lines.error(var.offset, "variables take more than 256 MiB")]);
            }
            image.resize(offset as usize, 0);
            image.extend_from_slice(&var.init);
            image.resize((offset + var.bytes) as usize, 0);
            offsets.push(offset);
        }
        let addresses = addresses(&text, &offsets, &lines).map_err(|e| vec![e])?;
        let of_module =
            |(var, _): &(&Var<'_>, _)| matches!(var.space, VarSpace::Global | VarSpace::Const);
        let named = |(var, &offset): (&Var<'_>, _)| {
            let name = crate::symbol::plain(var.name).to_string();
            ModuleVar { name, offset, bytes: var.bytes }
        };
        let vars: Arc<[ModuleVar]> =
            text.vars.iter().zip(&offsets).filter(of_module).map(named).collect();
        let assembly: Arc<[_]> = crate::source::assembly(source).into();
        let (mut kernels, mut refused) = (Vec::new(), Vec::new());
        for entry in &text.entries {
            match decode::kernel(&text, entry, &offsets, &lines) {
                Ok(kernel) => {
                    let (module_vars, assembly) = (vars.clone(), assembly.clone());
                    kernels.push(Kernel { module_vars, assembly, ..kernel });
                }
                Err(errors) => refused.push((entry.name.to_string(), errors)),
            }
        }
        if kernels.is_empty() && !refused.is_empty() {
            return Err(refused.into_iter().flat_map(|(_, errors)| errors).collect());
        }
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Module { id, kernels, refused, image, addresses })
    }

    /// Returns the names of the entries that can be run, in source order.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(Kernel::name)
    }

    /// Returns the entries that cannot be run, each with its errors.
    pub fn refused(&self) -> impl Iterator<Item = (&str, &[ParseError])> {
        self.refused.iter().map(|(name, errors)| (name.as_str(), errors.as_slice()))
    }

    /// Finds a kernel by name.
    pub fn kernel(&self, entry: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.name == entry)
    }

    /// Finds a kernel by name, or explains why there is none.
    pub(crate) fn find(&self, entry: &str) -> Result<&Kernel, String> {
        if let Some(kernel) = self.kernel(entry) {
            return Ok(kernel);
        }
        if let Some((_, errors)) = self.refused().find(|(name, _)| *name == entry) {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            return Err(format!("entry `{entry}` cannot be run: {}", errors.join("; ")));
        }
        let names: Vec<_> = self.entries().map(|n| format!("`{n}`")).collect();
        let have = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        Err(format!("the module has no entry `{entry}`; its entries: {have}"))
    }

    /// Names the parameters of every entry as in its CUDA source; see
    /// [`name_params`](Module::name_params).
    pub fn name_params_as_in(&mut self, source: &str) {
        let entries: Vec<String> = self.entries().map(str::to_owned).collect();
        for entry in entries {
            self.name_params(&entry, crate::parameters(source, &entry));
        }
    }

    /// Names the parameters of an entry, in order. Findings use these names, because compiled PTX
    /// does not contain the names of parameters.
    pub fn name_params<'a>(&mut self, entry: &str, names: impl IntoIterator<Item = &'a str>) {
        if let Some(kernel) = self.kernels.iter_mut().find(|k| k.name == entry) {
            for (param, name) in kernel.params.iter_mut().zip(names) {
                param.name = name.to_string();
            }
        }
    }
}

/// Resolves the names that occur in initial values.
fn addresses(
    text: &Text<'_>,
    offsets: &[u64],
    lines: &Lines,
) -> Result<Vec<(usize, u64)>, ParseError> {
    let vars = &text.vars;
    let in_image = |var: &Var<'_>| matches!(var.space, VarSpace::Global | VarSpace::Const);
    let mut all = Vec::new();
    for (var, at) in vars.iter().zip(offsets) {
        for (byte, name, more) in &var.addresses {
            let found = vars.iter().zip(offsets).find(|(v, _)| v.name == *name && in_image(v));
            let Some((_, target)) = found.filter(|_| in_image(var)) else {
                let funcs = text.funcs.iter().map(|func| func.name);
                let mut functions = funcs.chain(text.entries.iter().map(|entry| entry.name));
                let message = match functions.any(|function| function == *name) {
                    true => format!(
                        "`{name}` is a function, and this interpreter does not support the address of a function as an initial value: call functions by their names, for example in a `switch`"
                    ),
                    false => format!(
                        "`{name}` is not a global variable: only the address of a global variable can be an initial value"
                    ),
                };
                return Err(lines.error(var.offset, message));
            };
            all.push((*at as usize + byte, target.wrapping_add_signed(*more)));
        }
    }
    Ok(all)
}
