//! The syntax tree of PTX. Names are not yet resolved, and opcodes are not yet decoded.

use crate::ParseError;

/// A module.
#[derive(Debug, Default)]
pub(crate) struct Text<'a> {
    pub(crate) target: &'a str,
    /// The numbers and names of the source files, and whether they belong to an installation.
    pub(crate) files: Vec<(i64, &'a str, bool)>,
    pub(crate) vars: Vec<Var<'a>>,
    pub(crate) entries: Vec<Entry<'a>>,
    /// Functions that entries may call, including those without a body.
    pub(crate) funcs: Vec<Func<'a>>,
}

/// The state space of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VarSpace {
    Global,
    Const,
    Shared,
    Local,
    /// An argument of a call, declared with `.param` in a body.
    Param,
}

/// A variable, with its state space.
#[derive(Debug, Clone)]
pub(crate) struct Var<'a> {
    pub(crate) name: &'a str,
    pub(crate) space: VarSpace,
    pub(crate) align: u32,
    /// Size in bytes; 0 for `.extern .shared name[]`.
    pub(crate) bytes: u64,
    pub(crate) external: bool,
    /// Initial bytes; the rest are 0.
    pub(crate) init: Vec<u8>,
    /// Addresses among the initial values: for each, the index of its first byte, the name of a
    /// variable, and an offset.
    pub(crate) addresses: Vec<(usize, &'a str, i64)>,
    pub(crate) offset: usize,
}

/// A kernel.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) offset: usize,
    pub(crate) params: Vec<Param<'a>>,
    pub(crate) body: Vec<Stmt<'a>>,
    /// The value of `.maxnreg`.
    pub(crate) maxnreg: Option<u32>,
    /// The value of `.reqntid`.
    pub(crate) reqntid: Option<[u32; 3]>,
    /// The value of `.maxntid`.
    pub(crate) maxntid: Option<[u32; 3]>,
    /// The value of `.minnctapersm`.
    pub(crate) minnctapersm: Option<u32>,
    /// The value of `.reqnctapercluster`.
    pub(crate) cluster: Option<[u32; 3]>,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Func<'a> {
    pub(crate) name: &'a str,
    pub(crate) offset: usize,
    pub(crate) returns: Vec<Param<'a>>,
    pub(crate) params: Vec<Param<'a>>,
    /// `None` if the function is only declared.
    pub(crate) body: Option<Vec<Stmt<'a>>>,
}

/// A parameter of a kernel or function, or a result of a function.
#[derive(Debug, Clone)]
pub(crate) struct Param<'a> {
    pub(crate) name: &'a str,
    /// The type, if the parameter is a register; `align` and `bytes` are then 0.
    pub(crate) register: Option<&'a str>,
    pub(crate) align: u32,
    pub(crate) bytes: u32,
}

/// A position in the CUDA source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Loc {
    /// The line, in the kernel's own file, of the code itself or of its caller; 0 if there is none.
    pub(crate) line: u32,
    /// The number of the file that contains the code, and the line in that file.
    pub(crate) within: (i64, u32),
    /// Whether that file is not the kernel's own.
    pub(crate) foreign: bool,
}

/// One statement of a body.
#[derive(Debug)]
pub(crate) enum Stmt<'a> {
    /// Registers: a `.reg` type, with a name for one register or for a numbered family.
    Reg {
        ty: &'a str,
        names: Vec<(&'a str, Option<u32>)>,
        offset: usize,
    },
    Var(Var<'a>),
    Label(&'a str, usize),
    Inst(Inst<'a>),
    /// The source position of the following statements.
    Loc(Loc),
    /// An invalid statement, with its error.
    Bad(ParseError),
    /// `{`
    Open,
    /// `}`
    Close,
}

/// An instruction.
#[derive(Debug, Clone)]
pub(crate) struct Inst<'a> {
    pub(crate) offset: usize,
    /// The predicate register, and whether it is negated.
    pub(crate) guard: Option<(&'a str, bool)>,
    pub(crate) opcode: &'a str,
    pub(crate) operands: Vec<Operand<'a>>,
    /// The source text, from the guard to the semicolon.
    pub(crate) text: &'a str,
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand<'a> {
    Name(&'a str),
    /// `!p`
    Not(&'a str),
    Int(u64),
    F32(u32),
    F64(u64),
    /// `[base+offset]`
    Address(Base<'a>, i64),
    /// `name+offset`
    Sum(&'a str, i64),
    /// `{a, b, …}`
    Vector(Vec<Operand<'a>>),
    /// `(a, b, …)`: the arguments of a call.
    List(Vec<Operand<'a>>),
    /// `a|b`
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
}

/// The base of an address.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Base<'a> {
    Name(&'a str),
    Absolute,
}
