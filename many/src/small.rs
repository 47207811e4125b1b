//! Small sums. One GPU reads the elements of each rank at a separate address, and adds all elements
//! in the same order as if they were in a single slice.
//!
//! This file contains `unsafe` code: a kernel is given the addresses of all ranks' elements.
#![expect(unsafe_code, reason = "a kernel is given the addresses of all ranks' elements")]

use std::{cell::RefCell, sync::Arc};

use cudarc::driver::CudaStream;
use reduce::{Element, Operation, Shape, stages::Stage};

use crate::{
    Layout, Result,
    cuda::{self, Loaded, Words},
};

/// The buffers that one GPU needs to add the elements of all ranks.
#[derive(Debug)]
pub(crate) struct Small {
    stage: Loaded,
    stream: Arc<CudaStream>,
    shape: Shape,
    world: u32,
    /// The addresses of each rank's elements, in device memory.
    at: Words,
    /// The addresses that were last written to `at`.
    told: RefCell<Vec<u64>>,
    /// The index of each rank's first element, followed by the number of elements.
    firsts: Words,
    /// The ticket and the message slots of the blocks.
    state: Words,
}

impl Small {
    /// Allocates the buffers for the given number of elements on each rank.
    pub(crate) fn new<T: Element>(
        stream: &Arc<CudaStream>,
        operation: Operation,
        layout: &Layout,
        lengths: &[u64],
    ) -> Result<Small> {
        let (shape, world) = (layout.shape, lengths.len() as u32);
        let ends = lengths.iter().scan(0, |end, length| {
            *end += *length as u32;
            Some(*end)
        });
        let firsts: Vec<u32> = [0].into_iter().chain(ends).collect();
        // After the ticket, there is a slot of at most two words for each value that warps publish.
        let values = u64::from(shape.values());
        Ok(Small {
            stage: cuda::load::<T>(stream, operation, Stage::Elements, shape.threads())?,
            stream: stream.clone(),
            shape,
            world,
            at: Words::new(stream, world.into())?,
            told: RefCell::new(vec![0; world as usize]),
            firsts: Words::holding(stream, &cuda::pairs(&firsts))?,
            state: Words::new(stream, 2 + 2 * values)?,
        })
    }

    /// Queues the sum of the elements at these addresses, in rank order. If `stamp` is not 0, a
    /// stamp of 16 bytes precedes the elements at each address.
    ///
    /// # Safety
    /// Each address must point to the planned number of elements of its rank, in memory that this
    /// GPU can read, until the stream has passed this point. `out` must have room for a result.
    pub(crate) unsafe fn queue(
        &self,
        addresses: &[u64],
        out: u64,
        stamp: u64,
        epoch: u32,
    ) -> Result<()> {
        cuda::bind(&self.stream)?;
        let mut told = self.told.borrow_mut();
        for (rank, (address, told)) in (0..).zip(addresses.iter().zip(told.iter_mut())) {
            if address != told {
                self.at.put(rank, *address)?;
                *told = *address;
            }
        }
        let mut arguments = [
            self.at.address(),
            out,
            self.firsts.address(),
            self.world.into(),
            self.shape.vectors().into(),
            self.shape.chunks().into(),
            self.state.address(),
            stamp,
            epoch.into(),
        ];
        // SAFETY: the arguments match the kernel's parameters, the caller guarantees the elements
        // and `out`, and the other buffers live as long as this value.
        unsafe { cuda::launch(&self.stage, &self.stream, self.shape.chunks(), &mut arguments) }
    }
}
