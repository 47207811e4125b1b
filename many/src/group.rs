//! Groups of ranks that exchange data through NCCL. Either one rank or all ranks of a group are in
//! this process.

use std::{
    cell::{Cell, RefCell},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use cudarc::driver::CudaStream;

use crate::{
    Result,
    control::Control,
    nccl::{Comm, Nccl},
};

/// Options for a group.
#[derive(Clone, Debug)]
pub struct Options {
    /// The timeout for each operation that needs all ranks.
    pub timeout: Duration,
    /// The path of the NCCL library, or `None` to search for the library.
    pub nccl: Option<PathBuf>,
    /// Whether partial sums are exchanged by an integer all-reduce instead of an all-gather in a
    /// ring. The number of steps of the all-reduce grows with the logarithm of the number of ranks.
    /// `None` selects the all-reduce if there are several hosts.
    pub reduce: Option<bool>,
}

impl Default for Options {
    fn default() -> Options {
        Options { timeout: Duration::from_secs(60), nccl: None, reduce: None }
    }
}

/// A group of ranks, of which one or all are in this process.
#[derive(Debug)]
pub struct Group {
    // This field is declared first, so that it is dropped before the control plane announces that
    // this rank has left.
    pub(crate) comms: RefCell<Vec<Comm>>,
    pub(crate) ranks: Vec<(u32, Arc<CudaStream>)>,
    pub(crate) world: u32,
    pub(crate) control: Option<Control>,
    pub(crate) options: Options,
    pub(crate) hosts: usize,
    pub(crate) plans: Cell<u32>,
}

impl Group {
    /// Joins the ranks that `control` has connected. This process becomes one rank, which uses this
    /// stream.
    pub fn join(
        stream: &Arc<CudaStream>,
        nccl: &Nccl,
        control: Control,
        options: &Options,
    ) -> Result<Group> {
        let (rank, id) = (control.rank(), control.id().to_vec());
        let places = [(rank.rank, Some(stream.clone()))];
        let timeout = options.timeout;
        let comms = Comm::join(nccl, &id, rank.world, &places, timeout, &|| control.alive())?;
        let mut hosts: Vec<&str> = control.members().iter().map(|m| m.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        Ok(Group {
            hosts: hosts.len(),
            comms: RefCell::new(comms),
            ranks: vec![(rank.rank, stream.clone())],
            world: rank.world,
            control: Some(control),
            options: options.clone(),
            plans: Cell::new(0),
        })
    }

    /// Creates a group whose ranks are all in this process, one for each stream.
    pub fn local(streams: &[Arc<CudaStream>], nccl: &Nccl, options: &Options) -> Result<Group> {
        let ranks: Vec<_> = (0..).zip(streams.iter().cloned()).collect();
        let places: Vec<_> =
            ranks.iter().map(|(rank, stream)| (*rank, Some(stream.clone()))).collect();
        let world = streams.len() as u32;
        let comms = Comm::join(nccl, &nccl.id()?, world, &places, options.timeout, &|| Ok(()))?;
        Ok(Group {
            comms: RefCell::new(comms),
            ranks,
            world,
            control: None,
            options: options.clone(),
            hosts: 1,
            plans: Cell::new(0),
        })
    }

    /// Returns the number of ranks.
    pub fn world(&self) -> u32 {
        self.world
    }

    /// Returns the connections to the other processes.
    pub fn control(&self) -> Option<&Control> {
        self.control.as_ref()
    }

    pub(crate) fn alive(&self) -> Result<()> {
        self.control.as_ref().map_or(Ok(()), Control::alive)
    }
}
