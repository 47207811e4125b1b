//! The GPU types for systems that have no driver. These types are uninhabited, so code that matches
//! on a device compiles on every system.

use super::{address::Address, facts::Facts, ptx::Ptx};
use crate::{Error, Result, plan::Call};

/// A GPU; this type is uninhabited.
#[derive(Debug)]
pub enum Cuda {}

/// Device memory; this type is uninhabited.
#[derive(Debug)]
pub enum Memory {}

/// A loaded module; this type is uninhabited.
#[derive(Debug)]
pub enum Program {}

/// The counts for a launch; this type is uninhabited.
#[derive(Clone, Debug)]
pub enum Counted {}

/// A stopwatch; this type is uninhabited.
#[derive(Debug)]
pub enum Stopwatch {}

impl Cuda {
    /// Always fails, because there is no driver.
    pub fn open(_ordinal: usize) -> Result<Cuda> {
        Err(Error::NoDriver)
    }

    /// Never called.
    pub fn facts(&self) -> &Facts {
        match *self {}
    }

    /// Never called.
    pub fn load(&self, _ptx: &Ptx) -> Result<Program> {
        match *self {}
    }

    /// Never called.
    pub fn alloc(&self, _what: &str, _bytes: u64) -> Result<Memory> {
        match *self {}
    }

    /// Never called.
    pub fn free_bytes(&self) -> u64 {
        match *self {}
    }

    /// Never called.
    pub fn write(&self, _memory: &Memory, _at: u64, _bytes: &[u8]) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub fn read(&self, _memory: &Memory, _bytes: &mut [u8]) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub fn fill(&self, _memory: &Memory, _byte: u8) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub fn repeat(&self, _memory: &Memory, _bytes: u64) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub fn copy(&self, _from: Address<'_>, _to: Address<'_>) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub fn launch(&self, _program: &Program, _call: &Call<'_>) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub fn finish(&self) -> Result<()> {
        match *self {}
    }
}

impl Memory {
    /// Never called.
    pub fn address(&self) -> Address<'_> {
        match *self {}
    }
}

impl Stopwatch {
    /// Never called.
    pub fn gated(cuda: &Cuda) -> Result<Stopwatch> {
        match *cuda {}
    }

    /// Never called.
    pub fn time(&mut self, _work: impl FnOnce() -> Result<()>) -> Result<f64> {
        match *self {}
    }

    /// Never called.
    pub fn is_gated(&self) -> bool {
        match *self {}
    }
}
