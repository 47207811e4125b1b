//! A GPU where there can be no driver: types that nobody can have, so that all who match on a
//! device are written once.

use super::{address::Address, facts::Facts, ptx::Ptx};
use crate::{Error, Result, plan::Call};

/// A GPU that is nowhere.
#[derive(Debug)]
pub enum Cuda {}

/// Its memory.
#[derive(Debug)]
pub enum Memory {}

/// What it has loaded.
#[derive(Debug)]
pub enum Program {}

/// What it has counted.
#[derive(Clone, Debug)]
pub enum Counted {}

/// Its stopwatch.
#[derive(Debug)]
pub enum Stopwatch {}

impl Cuda {
    /// There is none.
    pub fn open(_ordinal: usize) -> Result<Cuda> {
        Err(Error::NoDriver)
    }

    /// Nobody asks.
    pub fn facts(&self) -> &Facts {
        match *self {}
    }

    /// Nobody loads.
    pub fn load(&self, _ptx: &Ptx) -> Result<Program> {
        match *self {}
    }

    /// Nobody allocates.
    pub fn alloc(&self, _what: &str, _bytes: u64) -> Result<Memory> {
        match *self {}
    }

    /// Nobody has memory.
    pub fn free_bytes(&self) -> u64 {
        match *self {}
    }

    /// Nobody writes.
    pub fn write(&self, _memory: &Memory, _at: u64, _bytes: &[u8]) -> Result<()> {
        match *self {}
    }

    /// Nobody reads.
    pub fn read(&self, _memory: &Memory, _bytes: &mut [u8]) -> Result<()> {
        match *self {}
    }

    /// Nobody fills.
    pub fn fill(&self, _memory: &Memory, _byte: u8) -> Result<()> {
        match *self {}
    }

    /// Nobody repeats.
    pub fn repeat(&self, _memory: &Memory, _bytes: u64) -> Result<()> {
        match *self {}
    }

    /// Nobody copies.
    pub fn copy(&self, _from: Address<'_>, _to: Address<'_>) -> Result<()> {
        match *self {}
    }

    /// Nobody launches.
    pub fn launch(&self, _program: &Program, _call: &Call<'_>) -> Result<()> {
        match *self {}
    }

    /// Nobody waits.
    pub fn finish(&self) -> Result<()> {
        match *self {}
    }
}

impl Memory {
    /// Nowhere.
    pub fn address(&self) -> Address<'_> {
        match *self {}
    }
}

impl Stopwatch {
    /// Nobody times.
    pub fn gated(cuda: &Cuda) -> Result<Stopwatch> {
        match *cuda {}
    }

    /// Nothing runs.
    pub fn time(&mut self, _work: impl FnOnce() -> Result<()>) -> Result<f64> {
        match *self {}
    }

    /// Nothing is held back.
    pub fn is_gated(&self) -> bool {
        match *self {}
    }
}
