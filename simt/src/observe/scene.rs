//! Properties of the current launch for use in reports.

use super::finding::{Fault, Finding, Site};
use crate::inst::Op;
use crate::kernel::Kernel;
use crate::model::Space;
use crate::observer::{Block, Buffer, LaunchInfo, thread_of};
use crate::place::Places;

/// Properties of the current launch for use in reports, copied so that they outlive the launch.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) kernel: Kernel,
    grid: [u32; 3],
    threads: [u32; 3],
    cluster: [u32; 3],
    params: Vec<u8>,
    /// Allocations into which the kernel's parameters point.
    buffers: Vec<Buffer>,
    /// Address of the module's variables.
    module: u64,
    /// Offset of the first byte of the system's shared memory.
    reserved: u32,
    /// Number of the launch, from 1.
    pub(super) launch: u64,
}

impl Scene {
    pub(super) fn new(launch: &LaunchInfo<'_>) -> Scene {
        Scene {
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            threads: launch.block,
            cluster: launch.cluster,
            params: launch.params.to_vec(),
            buffers: launch.buffers.to_vec(),
            module: launch.module,
            reserved: launch.reserved().start,
            launch: launch.number,
        }
    }

    /// Returns the linear grid index of the block that has the given rank in the cluster of
    /// `block`.
    pub(super) fn peer(&self, block: &Block, rank: u32) -> u64 {
        let [cx, cy, _] = self.cluster.map(|c| c.max(1));
        let at = [rank % cx, rank / cx % cy, rank / cx / cy];
        let [x, y, z] = [0, 1, 2].map(|i| {
            let size = self.cluster[i].max(1);
            u64::from(block.id[i] / size * size + at[i])
        });
        x + u64::from(self.grid[0]) * (y + u64::from(self.grid[1]) * z)
    }

    /// Returns the index of a block in the grid, in x, y and z.
    pub(super) fn block(&self, linear: u64) -> [u32; 3] {
        let (x, y) = (u64::from(self.grid[0].max(1)), u64::from(self.grid[1].max(1)));
        [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32]
    }

    pub(super) fn site(&self, block: u64, linear: u32, pc: u32, what: &'static str) -> Site {
        Site {
            block: self.block(block),
            thread: thread_of(self.threads, linear),
            line: self.kernel.line(pc),
            ptx_line: self.kernel.ptx_line(pc),
            at: self.kernel.place(pc),
            text: self.kernel.text(pc).to_owned(),
            what,
        }
    }

    /// Names an address in the notation of the source.
    pub(super) fn place(&self, space: Space, address: u64, width: u32) -> String {
        let buffer = self.buffers.iter().find(|b| address.wrapping_sub(b.base) < b.bytes.max(1));
        self.places().name(space, address, width, buffer.copied())
    }

    fn places(&self) -> Places<'_> {
        Places { kernel: &self.kernel, params: &self.params, module: self.module }
    }

    /// Returns whether an address lies in the system's shared memory. Races in this memory are not
    /// reported, because CUDA's headers use it correctly.
    pub(super) fn is_reserved(&self, space: Space, address: u64) -> bool {
        space == Space::Shared
            && self.kernel.reserved
            && address & 0xff_ffff >= u64::from(self.reserved)
    }

    /// Names the element at an address that an instruction accesses. A copy has no element type, and
    /// the element of an array may be a vector or a part of it, so in these cases the byte is named.
    /// Returns the name and the address of the element.
    pub(super) fn element(&self, space: Space, address: u64, pc: u32) -> (String, u64) {
        let op = self.kernel.insts.get(pc as usize).map(|inst| &inst.op);
        let (width, first) = match op {
            Some(Op::Async(_)) | None => (0, address),
            Some(op) => {
                let places = self.places();
                let whole = space == Space::Shared && places.may_hold(address, op.vector());
                let first = address - address % u64::from(op.width());
                (if whole { 0 } else { op.width() }, first)
            }
        };
        (self.place(space, first, width), first)
    }

    /// Returns the number of blocks of the grid.
    pub(super) fn blocks(&self) -> u64 {
        self.grid.iter().map(|&d| u64::from(d)).product()
    }

    /// Returns whether an instruction starts an asynchronous copy.
    pub(super) fn is_copy(&self, pc: u32) -> bool {
        self.kernel.insts.get(pc as usize).is_some_and(|inst| matches!(inst.op, Op::Async(_)))
    }

    /// Returns whether the kernel starts asynchronous copies.
    pub(super) fn copies(&self) -> bool {
        (0..self.kernel.insts.len() as u32).any(|pc| self.is_copy(pc))
    }

    /// Creates a finding from the first example of a fault.
    pub(super) fn finding(&self, fault: Fault, sites: Vec<Site>) -> Finding {
        Finding {
            fault,
            entry: self.kernel.name().to_owned(),
            launch: self.launch,
            launches: 1,
            space: None,
            address: 0,
            place: String::new(),
            lines: vec![sites.iter().map(|site| site.line).collect()],
            sites,
            detail: String::new(),
            cure: String::new(),
            places: 1,
            times: 1,
        }
    }
}
