//! Names addresses in the notation of the source, such as `shared[3]` or `in[200]`.

use crate::kernel::{Kernel, ModuleVar, SharedVar};
use crate::model::{Buffer, Space};

/// The data that is needed to name the addresses of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) kernel: &'a Kernel,
    /// The bytes of the parameters, laid out as in memory.
    pub(crate) params: &'a [u8],
    /// The address of the module's variables; 0 if there are none.
    pub(crate) module: u64,
}

impl Places<'_> {
    /// Names an element of `width` bytes at an address, or a byte if `width` is 0. `buffer` is the allocation that contains a
    /// global address.
    pub(crate) fn name(
        &self,
        space: Space,
        address: u64,
        width: u32,
        buffer: Option<Buffer>,
    ) -> String {
        if matches!(space, Space::Global | Space::Const)
            && let Some((var, offset)) = self.variable(address)
        {
            return match var.bytes == u64::from(width) {
                true => format!("`{}`", var.name),
                false => element(&var.name, offset, width),
            };
        }
        match (space, buffer) {
            (Space::Global, Some(buffer)) => self.global(address, width, buffer),
            (Space::Global, None) => format!("global address {address:#x}"),
            (Space::Shared, _) => self.shared(address & 0xff_ffff, width),
            (Space::Local, _) => format!("byte {address} of its local memory"),
            (Space::Const, _) => format!("constant address {address:#x}"),
            (Space::Param, _) => format!("byte {address} of the parameters"),
        }
    }

    /// Returns the variable of the module that contains an address, and the offset in it.
    fn variable(&self, address: u64) -> Option<(&ModuleVar, u64)> {
        let offset = address.checked_sub(self.module).filter(|_| self.module != 0)?;
        let vars = &self.kernel.module_vars;
        let var = vars.iter().find(|v| v.offset <= offset && offset < v.offset + v.bytes)?;
        Some((var, offset - var.offset))
    }

    /// Names a byte at an address.
    pub(crate) fn byte(&self, space: Space, address: u64, buffer: Option<Buffer>) -> String {
        self.name(space, address, 0, buffer)
    }

    fn global(&self, address: u64, width: u32, buffer: Buffer) -> String {
        match self.pointer(address, buffer) {
            Some((i, pointer)) => {
                let offset = address - pointer;
                let whole = width > 0 && offset.is_multiple_of(width.into());
                match (self.kernel.parameter(i), whole) {
                    (Some(name), true) => format!("`{name}[{}]`", offset / u64::from(width)),
                    (Some(name), false) => format!("byte {offset} of `{name}`"),
                    (None, true) => format!(
                        "element {} of the {} parameter's buffer",
                        offset / u64::from(width),
                        ordinal(i)
                    ),
                    (None, false) => {
                        format!("byte {offset} of the {} parameter's buffer", ordinal(i))
                    }
                }
            }
            None => {
                let offset = address.wrapping_sub(buffer.base) as i64;
                format!("byte {offset} of a buffer of {} bytes", buffer.bytes)
            }
        }
    }

    /// Returns the name and the address of the first element of the array into which a parameter
    /// points, if the array may contain an address.
    pub(crate) fn start(
        &self,
        space: Space,
        address: u64,
        buffer: Option<Buffer>,
    ) -> Option<(String, u64)> {
        let buffer = buffer.filter(|_| space == Space::Global)?;
        if self.variable(address).is_some() {
            return None;
        }
        let (i, pointer) = self.pointer(address, buffer)?;
        let name = match self.kernel.parameter(i) {
            Some(name) => format!("`{name}`"),
            None => format!("the {} parameter's buffer", ordinal(i)),
        };
        Some((name, pointer))
    }

    /// Returns the parameter that points into a buffer, at or before an address.
    fn pointer(&self, address: u64, buffer: Buffer) -> Option<(usize, u64)> {
        let within =
            |pointer: u64| pointer.wrapping_sub(buffer.base) <= buffer.bytes && pointer <= address;
        self.pointers().find(|(_, pointer)| within(*pointer))
    }

    /// Returns the indices and values of the parameters that may be pointers.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = (usize, u64)> {
        self.kernel.params.iter().enumerate().filter_map(|(i, param)| {
            let bytes = self.params.get(param.offset as usize..)?.get(..8)?;
            (param.bytes == 8).then(|| (i, u64::from_le_bytes(bytes.try_into().expect("8 bytes"))))
        })
    }

    /// Returns the variable that contains an offset in shared memory.
    fn shared_variable(&self, offset: u64) -> Option<&SharedVar> {
        let holds = |bytes: Option<u32>, from: u32| {
            offset >= from.into() && bytes.is_none_or(|bytes| offset < u64::from(from + bytes))
        };
        self.kernel.shared_vars.iter().find(|var| holds(var.bytes, var.offset))
    }

    /// Returns whether a shared address is in a variable whose elements may be vectors of this many
    /// bytes, according to its alignment, and is not at its start, where each element has the index
    /// 0. `bytes` is `None` for an access to a scalar.
    pub(crate) fn may_hold(&self, address: u64, bytes: Option<u32>) -> bool {
        let offset = address & 0xff_ffff;
        let var = self.shared_variable(offset);
        let inside = var.filter(|var| offset > var.offset.into());
        inside.zip(bytes).is_some_and(|(var, bytes)| var.align >= bytes)
    }

    fn shared(&self, offset: u64, width: u32) -> String {
        match self.shared_variable(offset) {
            Some(var) => element(&var.name, offset - u64::from(var.offset), width),
            None => format!("byte {offset} of shared memory"),
        }
    }
}

/// Names an element, such as `name[3]`. Gives the byte offset instead if the address is inside an
/// element, or if the access is to single bytes, which may belong to a structure.
pub(crate) fn element(name: &str, offset: u64, width: u32) -> String {
    match width > 1 && offset.is_multiple_of(width.into()) {
        true => format!("`{name}[{}]`", offset / u64::from(width)),
        false => format!("byte {offset} of `{name}`"),
    }
}

fn ordinal(i: usize) -> String {
    let words =
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"];
    words.get(i).map_or_else(|| format!("{}th", i + 1), ToString::to_string)
}

/// Names a thread by its index in its block. If y and z are 0, the index is a single number.
pub(crate) fn thread(thread: [u32; 3]) -> String {
    match thread {
        [x, 0, 0] => format!("thread {x}"),
        [x, y, 0] => format!("thread ({x},{y})"),
        [x, y, z] => format!("thread ({x},{y},{z})"),
    }
}

/// Names a block by its index in the grid, in the same form as a thread.
pub(crate) fn block(block: [u32; 3]) -> String {
    match block {
        [x, 0, 0] => format!("block {x}"),
        [x, y, 0] => format!("block ({x},{y})"),
        [x, y, z] => format!("block ({x},{y},{z})"),
    }
}

/// Formats a count with its noun, such as `1 block` or `2 blocks`.
pub(crate) fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Formats a number as an adjective, such as `a 4-byte` or `an 8-byte`.
pub(crate) fn a_number(n: u64, unit: &str) -> String {
    let text = n.to_string();
    let vowel = text.starts_with('8') || matches!(n, 11 | 18);
    format!("{} {text}-{unit}", if vowel { "an" } else { "a" })
}
