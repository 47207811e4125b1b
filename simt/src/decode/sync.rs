//! Decodes barriers, warp-wide operations, fences and `mbarrier`.

use super::Decoder;
use super::mods::{Decoded, Mods, window};
use crate::inst::{AtomOp, Bar, Dst, Mbar, MbarOp, Op, Red, Shfl, Src, Sync, Ty, Window};
use crate::model::{Order, Scope};
use crate::parse::ast::Operand;

const COUNT: &str = "has too few or too many operands";
const UNKNOWN: &str = "cannot be run: it is not in the supported subset";

impl Decoder<'_, '_> {
    /// Decodes `bar` and `barrier`; `bar` is another name for `barrier.aligned`.
    pub(super) fn barrier(
        &mut self,
        long: bool,
        mods: &mut Mods<'_>,
        operands: &[Operand<'_>],
    ) -> Decoded<Op> {
        if mods.take("warp") {
            let [members] = operands else { return Err(COUNT.into()) };
            return match mods.take("sync") {
                true => Ok(Op::Sync {
                    op: Box::new(Sync::Barrier),
                    members: self.src(members, Ty::B32)?,
                }),
                false => Err("lacks `.sync`".into()),
            };
        }
        if long && mods.take("cluster") {
            let order = mods.order();
            mods.take("aligned");
            let relaxed = order == Some(Order::Relaxed);
            return match (mods.take("arrive"), mods.take("wait"), order) {
                (true, false, None | Some(Order::Release | Order::Relaxed)) => {
                    Ok(Op::ClusterArrive { relaxed })
                }
                (true, false, _) => Err("can only be `.release` or `.relaxed`".into()),
                (false, true, None | Some(Order::Acquire)) => Ok(Op::ClusterWait),
                (false, true, _) => Err("can only be `.acquire`".into()),
                _ => Err("lacks `.arrive` or `.wait`".into()),
            };
        }
        mods.take("cta");
        // Before sm_70, all lanes of a warp must be at the same `barrier`, aligned or not.
        let old = self.target().is_some_and(|target| target < 70);
        let aligned = mods.take("aligned") || !long || old;
        if mods.take("red") {
            return self.bar_red(aligned, mods, operands);
        }
        let arrive = mods.take("arrive");
        if !arrive && !mods.take("sync") {
            return Err("lacks `.sync`, `.arrive` or `.red`".into());
        }
        let (id, count) = match operands {
            [id] if !arrive => (id, None),
            [id, count] => (id, Some(self.src(count, Ty::U32)?)),
            _ => return Err(COUNT.into()),
        };
        Ok(Op::Bar(Box::new(Bar { aligned, arrive, id: self.src(id, Ty::U32)?, count, red: None })))
    }

    fn bar_red(
        &mut self,
        aligned: bool,
        mods: &mut Mods<'_>,
        operands: &[Operand<'_>],
    ) -> Decoded<Op> {
        let ty = mods.ty();
        let red = match (mods.take("popc"), mods.take("and"), mods.take("or"), ty) {
            (true, false, false, Some(Ty::U32)) => Red::Popc,
            (false, true, false, Some(Ty::Pred)) => Red::And,
            (false, false, true, Some(Ty::Pred)) => Red::Or,
            _ => return Err(UNKNOWN.into()),
        };
        let (dst, id, count, p) = match operands {
            [dst, id, p] => (dst, id, None, p),
            [dst, id, count, p] => (dst, id, Some(self.src(count, Ty::U32)?), p),
            _ => return Err(COUNT.into()),
        };
        let dst = self.dst(dst, if red == Red::Popc { 32 } else { 1 })?;
        let p = self.predicate(p)?;
        Ok(Op::Bar(Box::new(Bar {
            aligned,
            arrive: false,
            id: self.src(id, Ty::U32)?,
            count,
            red: Some((red, dst, p)),
        })))
    }

    pub(super) fn collective(
        &mut self,
        base: &str,
        mods: &mut Mods<'_>,
        operands: &[Operand<'_>],
    ) -> Decoded<Op> {
        if !mods.take("sync") {
            return Err("cannot be run without `.sync`".into());
        }
        let Some((members, rest)) = operands.split_last() else { return Err(COUNT.into()) };
        let members = self.src(members, Ty::B32)?;
        let op = match (base, rest) {
            ("shfl", [dst, a, b, c]) => {
                let mode = mods.find(|p| {
                    Some(match p {
                        "up" => Shfl::Up,
                        "down" => Shfl::Down,
                        "bfly" => Shfl::Bfly,
                        "idx" => Shfl::Idx,
                        _ => return None,
                    })
                });
                let (Some(mode), Some(Ty::B32)) = (mode, mods.ty()) else {
                    return Err(UNKNOWN.into());
                };
                let (dst, p) = self.pair(dst, 32, 1)?;
                let (a, b, c) =
                    (self.src(a, Ty::B32)?, self.src(b, Ty::B32)?, self.src(c, Ty::B32)?);
                Sync::Shuffle { mode, dst, p, a, b, c }
            }
            ("vote", [dst, a]) => {
                let a = self.predicate(a)?;
                if mods.take("ballot") {
                    match mods.ty() {
                        Some(Ty::B32) => Sync::Ballot { dst: self.dst(dst, 32)?, a },
                        _ => return Err(UNKNOWN.into()),
                    }
                } else {
                    let dst = self.dst(dst, 1)?;
                    let (all, any, uni) = (mods.take("all"), mods.take("any"), mods.take("uni"));
                    match (all, any, uni, mods.ty()) {
                        (true, false, false, Some(Ty::Pred)) => Sync::VoteAll { dst, a },
                        (false, true, false, Some(Ty::Pred)) => Sync::VoteAny { dst, a },
                        (false, false, true, Some(Ty::Pred)) => Sync::VoteUni { dst, a },
                        _ => return Err(UNKNOWN.into()),
                    }
                }
            }
            ("match", [dst, a]) => {
                let ty = mods.ty();
                let Some(ty @ (Ty::B32 | Ty::B64)) = ty else { return Err(UNKNOWN.into()) };
                let a = self.src(a, ty)?;
                match (mods.take("any"), mods.take("all")) {
                    (true, false) => Sync::MatchAny { dst: self.dst(dst, 32)?, a },
                    (false, true) => {
                        let (dst, p) = self.pair(dst, 32, 1)?;
                        Sync::MatchAll { dst, p, a }
                    }
                    _ => return Err(UNKNOWN.into()),
                }
            }
            ("redux", [dst, a]) => {
                let op = mods.find(|p| {
                    Some(match p {
                        "add" => AtomOp::Add,
                        "min" => AtomOp::Min,
                        "max" => AtomOp::Max,
                        "and" => AtomOp::And,
                        "or" => AtomOp::Or,
                        "xor" => AtomOp::Xor,
                        _ => return None,
                    })
                });
                let (Some(op), Some(ty)) = (op, mods.ty()) else { return Err(UNKNOWN.into()) };
                let fits = match op {
                    AtomOp::Add => matches!(ty, Ty::U32 | Ty::S32),
                    AtomOp::Min | AtomOp::Max => matches!(ty, Ty::U32 | Ty::S32 | Ty::F32),
                    _ => ty == Ty::B32,
                };
                if !fits {
                    return Err(UNKNOWN.into());
                }
                let float = ty == Ty::F32;
                let (abs, nan) = (float && mods.take("abs"), float && mods.take("NaN"));
                Sync::Redux { op, ty, abs, nan, dst: self.dst(dst, 32)?, a: self.src(a, ty)? }
            }
            ("elect", [dst]) => {
                let (dst, p) = self.pair(dst, 32, 1)?;
                Sync::Elect { dst, p }
            }
            _ => return Err(COUNT.into()),
        };
        Ok(Op::Sync { op: Box::new(op), members })
    }

    pub(super) fn fence(&mut self, membar: bool, mods: &mut Mods<'_>) -> Decoded<Op> {
        // Only the copy engine's proxy is modelled, so a fence for the alias proxy has no effect.
        let proxy = |p: &str| p.starts_with("proxy::").then_some(());
        if mods.take("proxy") || mods.find(proxy).is_some() {
            let known = ["async", "async::generic", "async.global", "alias"];
            let alias = mods.take("alias") || mods.take("proxy::alias");
            while mods.find(|p| (known.contains(&p) || window(p).is_some()).then_some(())).is_some()
            {
            }
            return Ok(if alias { Op::Nop } else { Op::ProxyFence });
        }
        if mods.take("mbarrier_init") {
            mods.order();
            mods.scope();
            return Ok(Op::InitFence);
        }
        let order = mods.order().unwrap_or(if membar { Order::SeqCst } else { Order::AcqRel });
        let Some(scope) = mods.scope() else { return Err("lacks a scope".into()) };
        if scope >= Scope::Gpu {
            self.interacts = true;
        }
        Ok(Op::Fence(order, scope))
    }

    pub(super) fn mbarrier(
        &mut self,
        mods: &mut Mods<'_>,
        operands: &[Operand<'_>],
    ) -> Decoded<Op> {
        if mods.ty() != Some(Ty::B64) && !mods.take("complete_tx") {
            return Err("can be run only on `.b64`".into());
        }
        let window = mods.find(window).unwrap_or(Window::Generic);
        if !matches!(window, Window::Generic | Window::Shared | Window::SharedCluster) {
            return Err("works on shared memory only".into());
        }
        let expect = mods.take("expect_tx");
        let order = mods.order();
        let scope = mods.scope().unwrap_or(Scope::Cta);
        mods.take("noComplete");
        let address = |o: &Operand<'_>| self.address(o).map(|(a, _)| a);
        let state = |o: &Operand<'_>| {
            if *o == Operand::Name("_") { Ok(Dst::Sink) } else { self.dst(o, 64) }
        };
        let mut default = Order::Release;
        let (addr, op) = if mods.take("init") {
            let [addr, count] = operands else { return Err(COUNT.into()) };
            (address(addr)?, MbarOp::Init { count: self.src(count, Ty::U32)? })
        } else if mods.take("inval") {
            let [addr] = operands else { return Err(COUNT.into()) };
            (address(addr)?, MbarOp::Invalidate)
        } else if let Some(drop) = mods.find(|p| match p {
            "arrive" => Some(false),
            "arrive_drop" => Some(true),
            _ => None,
        }) {
            match operands {
                [dst, addr] if !expect => (
                    address(addr)?,
                    MbarOp::Arrive { dst: state(dst)?, count: Src::Imm(1), expect: None, drop },
                ),
                [dst, addr, n] => {
                    let n = self.src(n, Ty::U32)?;
                    let (count, expect) = if expect { (Src::Imm(1), Some(n)) } else { (n, None) };
                    (address(addr)?, MbarOp::Arrive { dst: state(dst)?, count, expect, drop })
                }
                _ => return Err(COUNT.into()),
            }
        } else if mods.take("test_wait") {
            default = Order::Acquire;
            self.wait(mods, operands, false)?
        } else if mods.take("try_wait") {
            default = Order::Acquire;
            self.wait(mods, operands, true)?
        } else if mods.take("pending_count") {
            let [dst, token] = operands else { return Err(COUNT.into()) };
            let op = MbarOp::Pending { dst: self.dst(dst, 32)?, state: self.src(token, Ty::B64)? };
            (crate::inst::Address { base: Src::Imm(0), offset: 0 }, op)
        } else if expect {
            let [addr, n] = operands else { return Err(COUNT.into()) };
            default = Order::Relaxed;
            (address(addr)?, MbarOp::Expect { bytes: self.src(n, Ty::U32)? })
        } else if mods.rest().is_none() {
            let [addr, n] = operands else { return Err(COUNT.into()) };
            default = Order::Relaxed;
            (address(addr)?, MbarOp::Complete { bytes: self.src(n, Ty::U32)? })
        } else {
            return Err(UNKNOWN.into());
        };
        Ok(Op::Mbar(Box::new(Mbar { window, addr, op, order: order.unwrap_or(default), scope })))
    }

    fn wait(
        &self,
        mods: &mut Mods<'_>,
        operands: &[Operand<'_>],
        wait: bool,
    ) -> Decoded<(crate::inst::Address, MbarOp)> {
        let parity = mods.take("parity");
        let (dst, addr, state) = match operands {
            [dst, addr, state] => (dst, addr, state),
            // The time limit of a wait is only a hint.
            [dst, addr, state, limit] if wait => {
                self.src(limit, Ty::U32)?;
                (dst, addr, state)
            }
            _ => return Err(COUNT.into()),
        };
        let state = self.src(state, if parity { Ty::U32 } else { Ty::B64 })?;
        Ok((self.address(addr)?.0, MbarOp::Test { dst: self.dst(dst, 1)?, parity, state, wait }))
    }
}
