//! A PTX text as written: names not yet resolved, opcodes not yet understood.

use crate::ParseError;

/// A module.
#[derive(Debug, Default)]
pub(crate) struct Text<'a> {
    pub(crate) target: &'a str,
    pub(crate) vars: Vec<Var<'a>>,
    pub(crate) entries: Vec<Entry<'a>>,
    /// Functions that entries may call, those without a body among them.
    pub(crate) funcs: Vec<Func<'a>>,
}

/// Where a variable lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VarSpace {
    Global,
    Const,
    Shared,
    Local,
    /// What a call hands over: `.param` in a body.
    Param,
}

/// A variable in some state space.
#[derive(Debug, Clone)]
pub(crate) struct Var<'a> {
    pub(crate) name: &'a str,
    pub(crate) space: VarSpace,
    pub(crate) align: u32,
    /// Bytes; 0 for `.extern .shared name[]`.
    pub(crate) bytes: u64,
    pub(crate) external: bool,
    /// Initial bytes; what lies beyond them is 0.
    pub(crate) init: Vec<u8>,
    pub(crate) offset: usize,
}

/// A kernel.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) offset: usize,
    pub(crate) params: Vec<Param<'a>>,
    pub(crate) body: Vec<Stmt<'a>>,
    /// `.maxnreg`.
    pub(crate) maxnreg: Option<u32>,
    /// `.reqntid`.
    pub(crate) reqntid: Option<[u32; 3]>,
    /// `.maxntid`.
    pub(crate) maxntid: Option<[u32; 3]>,
    /// `.reqnctapercluster`.
    pub(crate) cluster: Option<[u32; 3]>,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Func<'a> {
    pub(crate) name: &'a str,
    pub(crate) offset: usize,
    pub(crate) returns: Vec<Param<'a>>,
    pub(crate) params: Vec<Param<'a>>,
    /// `None` where it is declared only.
    pub(crate) body: Option<Vec<Stmt<'a>>>,
}

/// A parameter of a kernel or function.
#[derive(Debug, Clone)]
pub(crate) struct Param<'a> {
    pub(crate) name: &'a str,
    pub(crate) align: u32,
    pub(crate) bytes: u32,
}

/// One statement of a body.
#[derive(Debug)]
pub(crate) enum Stmt<'a> {
    /// Registers: `.reg` type, and names that stand for one, or for a numbered family.
    Reg {
        ty: &'a str,
        names: Vec<(&'a str, Option<u32>)>,
        offset: usize,
    },
    Var(Var<'a>),
    Label(&'a str, usize),
    Inst(Inst<'a>),
    /// The source line of what follows.
    Loc(u32),
    /// What is no statement, and why.
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
    /// Predicate register, and whether it is negated.
    pub(crate) guard: Option<(&'a str, bool)>,
    pub(crate) opcode: &'a str,
    pub(crate) operands: Vec<Operand<'a>>,
    /// As spelled, guard to semicolon.
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
    /// `(a, b, …)`: what a call hands over.
    List(Vec<Operand<'a>>),
    /// `a|b`
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
}

/// What an address starts from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Base<'a> {
    Name(&'a str),
    Absolute,
}
