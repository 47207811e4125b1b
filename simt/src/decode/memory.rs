//! Decodes loads, stores, atomics, copies, and address arithmetic.

use super::mods::{Decoded, Mods, window};
use super::{Decoder, Symbol};
use crate::inst::{
    Address, Async, Atom, AtomOp, Bounds, Dst, Mbar, MbarOp, Memory, Op, Src, Ty, Window,
};
use crate::model::{AccessKind, CopyGroup, Order, Scope};
use crate::parse::ast::{Base, Operand};

impl Decoder<'_, '_> {
    /// Decodes `[base+offset]`. If the base is a variable, also returns the window of the variable.
    pub(super) fn address(&self, operand: &Operand<'_>) -> Decoded<(Address, Option<Window>)> {
        let Operand::Address(base, offset) = operand else {
            return Err("lacks an address in brackets".into());
        };
        match base {
            Base::Absolute => Ok((Address { base: Src::Imm(0), offset: *offset }, None)),
            Base::Name(name) => match self.names.find(name) {
                Some(Symbol::Reg { dst: Dst::W(r), bits: 32 }) => {
                    Ok((Address { base: Src::W(r), offset: *offset }, None))
                }
                Some(Symbol::Reg { dst: Dst::D(r), .. }) => {
                    Ok((Address { base: Src::D(r), offset: *offset }, None))
                }
                Some(Symbol::Address(src, window)) => {
                    self.mention(src, window);
                    Ok((Address { base: src, offset: *offset }, Some(window)))
                }
                _ => Err(format!(
                    "has the address `{name}`, which is not a register or variable in scope"
                )),
            },
        }
    }

    /// Decodes the address, window, order and scope of an access.
    fn memory(&mut self, mods: &mut Mods<'_>, addr: &Operand<'_>, ty: Ty) -> Decoded<Memory> {
        let order = mods.order();
        let mmio = mods.take("mmio");
        let scope = mods.scope();
        let mut window = mods.window();
        let (addr, variable) = self.address(addr)?;
        // The arguments of a call are in the thread's local memory.
        if window == Window::Param && variable == Some(Window::Local) {
            window = Window::Local;
        } else if window == Window::Param && variable.is_none() && !self.calls.is_empty() {
            return Err("cannot be run: it takes the address of a function's parameter".into());
        }
        // A variable's name is an offset in the variable's own window; an instruction may omit this
        // window, but may not name a different one.
        if let Some(own) = variable {
            let same = own == window || (own == Window::Shared && window == Window::SharedCluster);
            match window {
                Window::Generic if !matches!(own, Window::Global | Window::Const) => window = own,
                Window::Generic => {}
                _ if same => {}
                _ => return Err("names a variable in another state space".into()),
            }
        }
        let order = if mmio { Order::Relaxed } else { order.unwrap_or(Order::Weak) };
        let strong = order != Order::Weak;
        if strong && matches!(window, Window::Generic | Window::Global) {
            self.interacts = true;
        }
        let scope = scope.unwrap_or(if strong { Scope::Sys } else { Scope::Cta });
        Ok(Memory { window, ty, addr, bounds: Bounds::default(), order, scope, constant: false })
    }

    fn vector(mods: &mut Mods<'_>) -> usize {
        mods.find(|p| match p {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        })
        .unwrap_or(1)
    }

    pub(super) fn load(&mut self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let Some(ty) = mods.ty().filter(|ty| !ty.is_packed() && *ty != Ty::Pred) else {
            return Err("cannot be run: its type is not in the supported subset".into());
        };
        let count = Self::vector(mods);
        let constant = mods.take("nc");
        let policy = mods.cache();
        let (dst, addr) = match operands {
            [dst, addr] => (dst, addr),
            [dst, addr, policy_operand] if policy => {
                self.src(policy_operand, Ty::B64)?;
                (dst, addr)
            }
            _ => return Err("takes a destination and an address".into()),
        };
        let memory = Memory { constant, ..self.memory(mods, addr, ty)? };
        let parts = match dst {
            Operand::Vector(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        if parts.len() != count {
            return Err(format!("loads {count} values into {} registers", parts.len()));
        }
        let dsts =
            parts.iter().map(|p| self.wide_dst(p, ty.bits())).collect::<Decoded<Box<[_]>>>()?;
        Ok(Op::Load { memory: Box::new(memory), dsts })
    }

    pub(super) fn store(&mut self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        if mods.take("async") {
            return self.store_async(mods, operands);
        }
        let Some(ty) = mods.ty().filter(|ty| !ty.is_packed() && *ty != Ty::Pred) else {
            return Err("cannot be run: its type is not in the supported subset".into());
        };
        let count = Self::vector(mods);
        let policy = mods.cache();
        let (addr, src) = match operands {
            [addr, src] => (addr, src),
            [addr, src, policy_operand] if policy => {
                self.src(policy_operand, Ty::B64)?;
                (addr, src)
            }
            _ => return Err("takes an address and a source".into()),
        };
        let memory = self.memory(mods, addr, ty)?;
        if matches!(memory.window, Window::Const | Window::Param) {
            return Err("stores to a read-only state space".into());
        }
        let parts = match src {
            Operand::Vector(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        if parts.len() != count {
            return Err(format!("stores {count} values from {} registers", parts.len()));
        }
        let srcs = parts.iter().map(|p| self.wide_src(p, ty)).collect::<Decoded<Box<[_]>>>()?;
        Ok(Op::Store { memory: Box::new(memory), srcs })
    }

    /// Decodes `st.async`, a store to a block of the cluster. An `mbarrier` in that block counts
    /// the bytes that are stored.
    fn store_async(&mut self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let unknown = "cannot be run: this form is not in the supported subset";
        mods.take("weak");
        let cluster = mods.take("shared::cluster");
        let counted = mods.take("mbarrier::complete_tx::bytes");
        let ty = mods.ty().filter(|ty| matches!(ty.bits(), 32 | 64) && !ty.is_packed());
        let (Some(ty), true, true, [addr, src, mbarrier]) = (ty, cluster, counted, operands) else {
            return Err(unknown.into());
        };
        Ok(Op::Async(Box::new(Async {
            to: Window::SharedCluster,
            target: self.address(addr)?.0,
            from: Window::Param,
            source: self.address(addr)?.0,
            bytes: Src::Imm(ty.bytes().into()),
            value: Some(self.wide_src(src, ty)?),
            read: None,
            mbarrier: Some((Window::SharedCluster, self.address(mbarrier)?.0)),
            multicast: None,
            bulk: false,
        })))
    }

    pub(super) fn atomic(
        &mut self,
        red: bool,
        mods: &mut Mods<'_>,
        operands: &[Operand<'_>],
    ) -> Decoded<Op> {
        let unknown = || {
            Err("cannot be run: this operation on this type is not in the supported subset"
                .to_string())
        };
        let Some(ty) = mods.ty().filter(|ty| ty.bits() >= 16) else { return unknown() };
        // Atomics on 16-bit floats keep subnormals, which PTX requires the instruction to state
        // with `.noftz`.
        let noftz = mods.take("noftz");
        if noftz != (ty.is_float() && !matches!(ty, Ty::F32 | Ty::F64)) {
            return unknown();
        }
        let policy = mods.cache();
        let op = mods.find(|p| {
            Some(match p {
                "add" => AtomOp::Add,
                "min" => AtomOp::Min,
                "max" => AtomOp::Max,
                "inc" => AtomOp::Inc,
                "dec" => AtomOp::Dec,
                "and" => AtomOp::And,
                "or" => AtomOp::Or,
                "xor" => AtomOp::Xor,
                "exch" => AtomOp::Exch,
                "cas" => AtomOp::Cas,
                _ => return None,
            })
        });
        let Some(op) = op else { return unknown() };
        let fits = match op {
            AtomOp::Add => ty.is_float() || (ty.is_int() && ty.bits() >= 32),
            AtomOp::Min | AtomOp::Max => ty.is_int() && ty.bits() >= 32,
            AtomOp::Inc | AtomOp::Dec => ty == Ty::U32,
            AtomOp::Cas => matches!(ty, Ty::B16 | Ty::B32 | Ty::B64),
            AtomOp::And | AtomOp::Or | AtomOp::Xor | AtomOp::Exch => {
                matches!(ty, Ty::B32 | Ty::B64)
            }
        };
        if !fits || (red && matches!(op, AtomOp::Exch | AtomOp::Cas)) {
            return unknown();
        }
        let mut rest = operands;
        let mut dst = Dst::Sink;
        if !red {
            let Some((first, tail)) = rest.split_first() else {
                return Err("has no operands".into());
            };
            dst = self.dst(first, ty.bits())?;
            rest = tail;
        }
        if policy && let Some((last, head)) = rest.split_last() {
            self.src(last, Ty::B64)?;
            rest = head;
        }
        let (addr, b, c) = match (op, rest) {
            (AtomOp::Cas, [addr, b, c]) => (addr, self.src(b, ty)?, self.src(c, ty)?),
            (AtomOp::Cas, _) => return Err("takes a comparand and a new value".into()),
            (_, [addr, b]) => (addr, self.src(b, ty)?, Src::Imm(0)),
            _ => return Err("takes an address and one operand".into()),
        };
        let scope = mods.scope().unwrap_or(Scope::Gpu);
        let mut memory = Memory { scope, ..self.memory(mods, addr, ty)? };
        if memory.order == Order::Weak {
            memory.order = Order::Relaxed;
        }
        if matches!(memory.window, Window::Generic | Window::Global) {
            self.interacts = true;
        }
        if !matches!(
            memory.window,
            Window::Generic | Window::Global | Window::Shared | Window::SharedCluster
        ) {
            return Err("works on global and shared memory only".into());
        }
        // Atomic addition of `f32` flushes subnormals in global memory, but not in shared memory.
        let ftz = op == AtomOp::Add && ty == Ty::F32 && memory.window == Window::Global;
        let kind = if dst == Dst::Sink { AccessKind::Reduction } else { AccessKind::Atomic };
        Ok(Op::Atomic(Box::new(Atom { memory, kind, op, ftz, dst, unread: false, b, c })))
    }

    pub(super) fn cvta(&self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        if mods.ty() != Some(Ty::U64) {
            return Err("can be run only with `.u64`".into());
        }
        let to = mods.take("to");
        let Some(window) = mods.find(window) else { return Err("lacks a state space".into()) };
        let [dst, src] = operands else { return Err("takes two operands".into()) };
        // Global and constant addresses are already generic.
        if matches!(window, Window::Global | Window::Const) {
            return Ok(super::moves::copy(self.src(src, Ty::U64)?, self.dst(dst, 64)?, Ty::U64));
        }
        Ok(Op::Cvta {
            window,
            to,
            dst: self.dst(dst, 64)?,
            src: self.src(src, Ty::U64)?,
            offset: 0,
        })
    }

    pub(super) fn isspacep(&self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let Some(window) = mods.find(window) else { return Err("lacks a state space".into()) };
        let [dst, addr] = operands else { return Err("takes two operands".into()) };
        Ok(Op::IsSpace { dst: self.dst(dst, 1)?, window, addr: self.src(addr, Ty::U64)? })
    }

    pub(super) fn mapa(&self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let Some(ty) = mods.ty().filter(|ty| matches!(ty, Ty::U32 | Ty::U64)) else {
            return Err("lacks `.u32` or `.u64`".into());
        };
        let generic = !mods.take("shared::cluster");
        let [dst, addr, rank] = operands else { return Err("takes an address and a rank".into()) };
        let dst = self.dst(dst, ty.bits())?;
        Ok(Op::Mapa {
            dst,
            addr: self.src(addr, ty)?,
            offset: 0,
            rank: self.src(rank, Ty::U32)?,
            generic,
        })
    }

    pub(super) fn getctarank(&self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let Some(ty) = mods.ty().filter(|ty| matches!(ty, Ty::U32 | Ty::U64)) else {
            return Err("lacks `.u32` or `.u64`".into());
        };
        let generic = !mods.take("shared::cluster");
        let [dst, addr] = operands else { return Err("takes an address".into()) };
        Ok(Op::GetRank { dst: self.dst(dst, 32)?, addr: self.src(addr, ty)?, generic })
    }

    pub(super) fn createpolicy(
        &self,
        mods: &mut Mods<'_>,
        operands: &[Operand<'_>],
    ) -> Decoded<Op> {
        if mods.ty() != Some(Ty::B64) || !mods.take("fractional") {
            return Err("can be run only as `.fractional….b64`".into());
        }
        mods.cache();
        let Some(dst) = operands.first() else { return Err("has no destination".into()) };
        let alu = crate::inst::Alu {
            f: crate::inst::F::Mov,
            ty: Ty::B64,
            round: Default::default(),
            ftz: false,
            sat: false,
        };
        Ok(Op::Alu {
            alu,
            fast: crate::inst::Fast::No,
            dst: self.dst(dst, 64)?,
            src: [Src::Imm(0); 4],
        })
    }

    /// Decodes `cp.async` and `cp.async.bulk`, with their groups. Bulk copies to global memory
    /// complete immediately, so waits for their groups have no effect.
    pub(super) fn copy(&mut self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        if !mods.take("async") {
            return Err("cannot be run: it is not in the supported subset".into());
        }
        let bulk = mods.take("bulk");
        let group = |group| if bulk { Op::Nop } else { Op::CopyGroup(group) };
        if mods.take("commit_group") {
            return Ok(group(CopyGroup::Commit));
        }
        if mods.take("wait_all") {
            return Ok(group(CopyGroup::WaitAll));
        }
        if mods.take("wait_group") {
            mods.take("read");
            return match operands {
                [Operand::Int(left)] => {
                    Ok(group(CopyGroup::Wait(u32::try_from(*left).unwrap_or(u32::MAX))))
                }
                _ => Err("takes the number of groups".into()),
            };
        }
        if !bulk && mods.take("mbarrier") {
            return self.copy_arrives(mods, operands);
        }
        mods.take("weak");
        if bulk { self.bulk(mods, operands) } else { self.small_copy(mods, operands) }
    }

    /// Decodes `cp.async.mbarrier.arrive`, which arrives once the thread's earlier copies have
    /// completed. Without `.noinc`, the instruction also increases the expected count by one.
    fn copy_arrives(&mut self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let arrives = mods.take("arrive");
        let counts = mods.take("noinc");
        let window = mods.window();
        let ([addr], true, Some(Ty::B64)) = (operands, arrives, mods.ty()) else {
            return Err("cannot be run: this form is not in the supported subset".into());
        };
        let addr = self.address(addr)?.0;
        let op = MbarOp::Arrive { dst: Dst::Sink, count: Src::Imm(1), expect: None, drop: false };
        let mbar = Mbar { window, addr, op, order: Order::Release, scope: Scope::Cta };
        Ok(Op::CopyArrive { mbar: Box::new(mbar), counts })
    }

    fn bulk(&mut self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let unknown = "cannot be run: this direction is not in the supported subset";
        let Some(to) = mods.find(window) else { return Err(unknown.into()) };
        let Some(from) = mods.find(window) else { return Err(unknown.into()) };
        let counted = mods.take("mbarrier::complete_tx::bytes");
        let grouped = mods.take("bulk_group");
        let multicast = mods.take("multicast::cluster");
        let policy = mods.cache();
        match (to, from) {
            (Window::SharedCluster | Window::Shared, Window::Global)
            | (Window::SharedCluster, Window::Shared)
                if counted && !grouped => {}
            (Window::Global, Window::Shared) if grouped && !counted => {}
            _ => return Err(unknown.into()),
        }
        let mut rest = operands;
        if policy && let Some((last, head)) = rest.split_last() {
            self.src(last, Ty::B64)?;
            rest = head;
        }
        let mut mask = None;
        if multicast && let Some((last, head)) = rest.split_last() {
            mask = Some(self.src(last, Ty::B16)?);
            rest = head;
        }
        let (target, source, bytes, mbarrier) = match (rest, counted) {
            ([target, source, bytes, mbarrier], true) => {
                let addr = self.address(mbarrier)?.0;
                (target, source, bytes, Some((to, addr)))
            }
            ([target, source, bytes], false) => (target, source, bytes, None),
            _ => return Err("has too few or too many operands".into()),
        };
        Ok(Op::Async(Box::new(Async {
            to,
            target: self.address(target)?.0,
            from,
            source: self.address(source)?.0,
            bytes: self.src(bytes, Ty::U32)?,
            value: None,
            read: None,
            mbarrier,
            multicast: mask,
            bulk: true,
        })))
    }

    fn small_copy(&mut self, mods: &mut Mods<'_>, operands: &[Operand<'_>]) -> Decoded<Op> {
        let policy = mods.cache();
        let shared = mods.take("shared") || mods.take("shared::cta");
        if !shared || !mods.take("global") {
            return Err("cannot be run: this direction is not in the supported subset".into());
        }
        let mut rest = operands;
        if policy && let Some((last, head)) = rest.split_last() {
            self.src(last, Ty::B64)?;
            rest = head;
        }
        let (target, source, bytes, read) = match rest {
            [target, source, bytes] => (target, source, bytes, None),
            [target, source, bytes, read] => {
                (target, source, bytes, Some(self.src(read, Ty::U32)?))
            }
            _ => return Err("has too few or too many operands".into()),
        };
        if !matches!(bytes, Operand::Int(4 | 8 | 16)) {
            return Err("can copy only 4, 8 or 16 bytes".into());
        }
        Ok(Op::Async(Box::new(Async {
            to: Window::Shared,
            target: self.address(target)?.0,
            from: Window::Global,
            source: self.address(source)?.0,
            bytes: self.src(bytes, Ty::U32)?,
            value: None,
            read,
            mbarrier: None,
            multicast: None,
            bulk: false,
        })))
    }
}
