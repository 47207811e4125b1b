//! The dotted modifiers of an opcode. Each modifier must be decoded exactly once.

use crate::inst::{Rounding, Ty, Window};
use crate::model::{Order, Scope};

/// The result of decoding. An error message is the rest of a sentence that begins with the opcode.
pub(super) type Decoded<T> = Result<T, String>;

/// The modifiers that are not yet decoded.
pub(super) struct Mods<'a> {
    parts: Vec<&'a str>,
}

impl<'a> Mods<'a> {
    /// Splits an opcode into its base and modifiers.
    pub(super) fn split(opcode: &'a str) -> (&'a str, Mods<'a>) {
        let mut parts = opcode.split('.');
        let base = parts.next().unwrap_or("");
        (base, Mods { parts: parts.collect() })
    }

    /// Removes a modifier, and returns whether it was present.
    pub(super) fn take(&mut self, name: &str) -> bool {
        match self.parts.iter().position(|p| *p == name) {
            Some(at) => {
                self.parts.remove(at);
                true
            }
            None => false,
        }
    }

    /// Removes the first modifier for which `meaning` returns a value, and returns that value.
    pub(super) fn find<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (at, value) =
            self.parts.iter().enumerate().find_map(|(i, p)| Some((i, meaning(p)?)))?;
        self.parts.remove(at);
        Some(value)
    }

    /// Removes and returns the last modifier if it is a type.
    pub(super) fn ty(&mut self) -> Option<Ty> {
        let ty = Ty::parse(self.parts.last()?)?;
        self.parts.pop();
        Some(ty)
    }

    /// Returns the first modifier that was not decoded.
    pub(super) fn rest(&self) -> Option<&'a str> {
        self.parts.first().copied()
    }

    /// Removes and returns the rounding mode of a float result; the default is round-to-nearest.
    pub(super) fn round(&mut self) -> Rounding {
        self.find(|p| {
            Some(match p {
                "rn" => Rounding::Near,
                "rz" => Rounding::Zero,
                "rm" => Rounding::Down,
                "rp" => Rounding::Up,
                "rna" => Rounding::Away,
                _ => return None,
            })
        })
        .unwrap_or_default()
    }

    /// Removes and returns the state space; the default is generic.
    pub(super) fn window(&mut self) -> Window {
        self.find(window).unwrap_or(Window::Generic)
    }

    pub(super) fn scope(&mut self) -> Option<Scope> {
        self.find(|p| {
            Some(match p {
                "cta" => Scope::Cta,
                "cluster" => Scope::Cluster,
                "gpu" | "gl" => Scope::Gpu,
                "sys" => Scope::Sys,
                _ => return None,
            })
        })
    }

    pub(super) fn order(&mut self) -> Option<Order> {
        self.find(|p| {
            Some(match p {
                "weak" => Order::Weak,
                "volatile" => Order::Volatile,
                "relaxed" => Order::Relaxed,
                "acquire" => Order::Acquire,
                "release" => Order::Release,
                "acq_rel" => Order::AcqRel,
                "sc" => Order::SeqCst,
                _ => return None,
            })
        })
    }

    /// Removes the cache hints, which affect timing but not values. Returns whether one of the
    /// cache hints requires an operand with a policy.
    pub(super) fn cache(&mut self) -> bool {
        let hint = |p: &str| {
            let plain = ["ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"].contains(&p);
            let level = ["L1::", "L2::"].iter().any(|l| p.starts_with(l)) && p != "L2::cache_hint";
            (plain || level).then_some(())
        };
        while self.find(hint).is_some() {}
        self.take("L2::cache_hint")
    }
}

pub(super) fn window(part: &str) -> Option<Window> {
    Some(match part {
        "global" => Window::Global,
        "shared" | "shared::cta" => Window::Shared,
        "shared::cluster" => Window::SharedCluster,
        "local" => Window::Local,
        "const" => Window::Const,
        "param" | "param::entry" | "param::func" => Window::Param,
        _ => return None,
    })
}
