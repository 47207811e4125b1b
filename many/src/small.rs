//! A small sum: a GPU reads the elements of all ranks where they lie, each rank's in a piece of its own, and
//! adds them as it would one slice.
//!
//! One of the files with `unsafe`: a kernel is given the addresses of all ranks' elements.
#![expect(unsafe_code, reason = "a kernel has the addresses of all ranks' elements")]

use std::{cell::RefCell, sync::Arc};

use cudarc::driver::CudaStream;
use reduce::{Element, Operation, Shape, stages::Stage};

use crate::{
    Layout, Result,
    cuda::{self, Loaded, Words},
};

/// What one GPU needs to add the elements of all ranks.
#[derive(Debug)]
pub(crate) struct Small {
    stage: Loaded,
    stream: Arc<CudaStream>,
    shape: Shape,
    world: u32,
    /// Where each rank's elements are, as the GPU was told last.
    at: Words,
    told: RefCell<Vec<u64>>,
    /// The first element of each rank, and how many there are.
    firsts: Words,
    /// The mail between blocks.
    state: Words,
}

impl Small {
    /// For so many elements on each rank.
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
        // A value of each warp, of two words at most, behind the ticket.
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

    /// Adds the elements that lie at these addresses, rank by rank; each behind its stamp, if there is one.
    ///
    /// # Safety
    /// There are as many as was said, in memory that this GPU reads, until the stream has passed; and room
    /// for a result at `out`.
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
            self.shape.words().into(),
            self.shape.parts().into(),
            self.state.address(),
            stamp,
            epoch.into(),
        ];
        // SAFETY: these are the arguments of the entry; the elements are the caller's, and the rest lives
        // as long as this.
        unsafe { cuda::launch(&self.stage, &self.stream, self.shape.parts(), &mut arguments) }
    }
}
