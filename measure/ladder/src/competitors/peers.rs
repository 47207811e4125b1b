//! Sums from other libraries, if these libraries are installed.

use std::path::Path;

use common::device::Cuda;
use measured::Absent;

use super::{
    blas::{Blas, Routine},
    cub::{self, Cub},
};

/// The peers' libraries, or the reasons why they are not loaded.
#[derive(Debug)]
pub struct Peers {
    /// CUB and Thrust.
    pub cub: Result<Cub, String>,
    /// The toolkit's CUB, if it was compiled too.
    pub older: Option<Cub>,
    /// cuBLAS.
    pub blas: Result<Blas, String>,
}

impl Peers {
    /// Loads the libraries that are installed; `cub` is the path of CUB's library, if given.
    pub fn load(cuda: &Cuda, cub: Option<&Path>) -> Peers {
        let blas = Blas::load(cuda);
        Peers { cub: Cub::load(cub), older: Cub::of_the_toolkit(), blas }
    }

    /// Returns all loaded versions of CUB.
    pub fn cubs(&self) -> impl Iterator<Item = &Cub> {
        self.cub.iter().chain(&self.older)
    }

    /// Returns the peers that are missing for every type and size, with the reasons.
    pub fn missing(&self, takes: &dyn Fn(&str) -> bool) -> Vec<Absent> {
        let cub = self.cub.as_ref().err().map(|reason| (cub::NAMES.to_vec(), reason));
        let blas = self.blas.as_ref().err();
        let blas = blas.map(|reason| (Routine::ALL.map(Routine::name).to_vec(), reason));
        let absent = cub.into_iter().chain(blas).flat_map(|(names, reason)| {
            names.into_iter().map(move |name| Absent {
                variant: name.to_owned(),
                element: String::new(),
                n: 0,
                reason: reason.clone(),
            })
        });
        absent.filter(|absent| takes(&absent.variant)).collect()
    }

    /// Returns the versions of the libraries.
    pub fn versions(&self) -> String {
        let cubs = self.cubs().map(|cub| cub.version.clone());
        let blas = self.blas.as_ref().map(|blas| format!("cuBLAS {}", blas.version));
        cubs.chain(blas.ok()).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_peers_are_named_with_their_reason() {
        let peers = Peers { cub: Err("no CUB".into()), older: None, blas: Err("no cuBLAS".into()) };
        let absent = |takes: &dyn Fn(&str) -> bool| -> Vec<(String, String)> {
            peers.missing(takes).into_iter().map(|a| (a.variant, a.reason)).collect()
        };
        let all = absent(&|_| true);
        assert_eq!(all.len(), 6);
        assert_eq!(all[0], ("cub".into(), "no CUB".into()));
        assert_eq!(
            absent(&|name| name == "cublas-dot"),
            [("cublas-dot".into(), "no cuBLAS".into())]
        );
        assert_eq!(peers.versions(), "");
    }
}
