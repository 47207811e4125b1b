//! Reads the rank of this process from the environment variables that launchers set.

use std::net::{SocketAddr, ToSocketAddrs};

use crate::{Error, Result};

/// A rank and the number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The rank, numbered from 0.
    pub rank: u32,
    /// The number of ranks.
    pub world: u32,
}

/// A launcher, which is recognized by the variables that it sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Launcher {
    /// torchrun, and launchers that set the same variables.
    Torchrun,
    /// Slurm's srun.
    Srun,
    /// Open MPI's mpirun.
    Openmpi,
    /// The mpirun of MPICH or of Intel MPI.
    Mpich,
}

/// The names of the variables in which a launcher sets the rank, the number of ranks, and the rank
/// on this machine.
struct Variables {
    launcher: Launcher,
    rank: &'static str,
    world: &'static str,
    local: &'static str,
}

const VARIABLES: [Variables; 4] = [
    Variables {
        launcher: Launcher::Torchrun,
        rank: "RANK",
        world: "WORLD_SIZE",
        local: "LOCAL_RANK",
    },
    Variables {
        launcher: Launcher::Srun,
        rank: "SLURM_PROCID",
        world: "SLURM_NTASKS",
        local: "SLURM_LOCALID",
    },
    Variables {
        launcher: Launcher::Openmpi,
        rank: "OMPI_COMM_WORLD_RANK",
        world: "OMPI_COMM_WORLD_SIZE",
        local: "OMPI_COMM_WORLD_LOCAL_RANK",
    },
    Variables {
        launcher: Launcher::Mpich,
        rank: "PMI_RANK",
        world: "PMI_SIZE",
        local: "MPI_LOCALRANKID",
    },
];

/// The settings of a launched rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The rank and the number of ranks.
    pub rank: Rank,
    /// The index of this rank's GPU on this machine.
    pub local: u32,
    /// The launcher's name for the job, with the job's restart count.
    pub job: String,
    /// The host of rank 0.
    pub host: String,
    /// The port on which rank 0 listens.
    pub port: u16,
}

/// A function that returns the value of an environment variable. Tests use a replacement.
pub(crate) type Lookup<'l> = &'l dyn Fn(&str) -> Option<String>;

impl Rank {
    /// Returns the rank that this process's launcher has set, or `None` if there is no launcher.
    pub fn from_env() -> Result<Option<Rank>> {
        Ok(launched(&|name| std::env::var(name).ok(), None)?.map(|launched| launched.rank))
    }
}

/// Returns the settings of the given launcher, read from the environment. If no launcher is given,
/// tries all launchers, and returns `None` if none of them has set its variables.
pub fn launched(
    env: &dyn Fn(&str) -> Option<String>,
    launcher: Option<Launcher>,
) -> Result<Option<Launched>> {
    let wanted = |of: &&Variables| launcher.is_none_or(|launcher| of.launcher == launcher);
    let mut found: Vec<(&Variables, Rank)> = Vec::new();
    for of in VARIABLES.iter().filter(wanted) {
        if let Some(rank) = rank(env, of)? {
            found.push((of, rank));
        }
    }
    let Some((of, rank)) = found.first() else {
        return match launcher {
            None => Ok(None),
            Some(launcher) => {
                let of = VARIABLES.iter().find(|of| of.launcher == launcher);
                let name = of.map_or("RANK", |of| of.rank);
                Err(Error::Launcher(format!("--launcher names a launcher that has not set {name}")))
            }
        };
    };
    if let Some((other, theirs)) = found.iter().find(|(_, theirs)| theirs != rank) {
        let (name, ours, other, theirs) = match theirs.rank == rank.rank {
            true => (of.world, rank.world, other.world, theirs.world),
            false => (of.rank, rank.rank, other.rank, theirs.rank),
        };
        return Err(Error::Launcher(format!(
            "two launchers disagree: {name} is {ours}, {other} is {theirs}; choose one with --launcher"
        )));
    }
    let local = number(env, of.local)?.unwrap_or(rank.rank);
    let job = match of.launcher {
        Launcher::Torchrun => ["TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"],
        Launcher::Srun => ["SLURM_JOB_ID", "SLURM_STEP_ID"],
        Launcher::Openmpi => ["OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE"],
        Launcher::Mpich => ["PMI_KVSNAME", "PMI_JOB"],
    };
    let job = job.map(|name| env(name).unwrap_or_default()).join(".");
    let (host, port) = (host(env, of, *rank)?, port(env, of)?);
    Ok(Some(Launched { rank: *rank, local, job, host, port }))
}

fn number(env: Lookup<'_>, name: &str) -> Result<Option<u32>> {
    let Some(text) = env(name) else { return Ok(None) };
    let wrong = |_| Error::Launcher(format!("{name} is {text:?}, which is not a number"));
    text.trim().parse().map(Some).map_err(wrong)
}

fn rank(env: Lookup<'_>, of: &Variables) -> Result<Option<Rank>> {
    let one = |set: &str, unset: &str| {
        Err(Error::Launcher(format!(
            "{set} is set and {unset} is not: start all ranks with one launcher"
        )))
    };
    match (number(env, of.rank)?, number(env, of.world)?) {
        (Some(rank), Some(world)) if rank < world => Ok(Some(Rank { rank, world })),
        (_, Some(0)) => Err(Error::Launcher(format!(
            "{} is 0: the number of ranks must be at least 1",
            of.world
        ))),
        (Some(rank), Some(world)) => Err(Error::Launcher(format!(
            "{} is {rank}, but {} is {world}: ranks are 0 to {}",
            of.rank,
            of.world,
            world - 1
        ))),
        (Some(_), None) => one(of.rank, of.world),
        // Slurm sets the number of tasks even in shells that are not tasks.
        (None, Some(_)) if of.launcher == Launcher::Torchrun => one(of.world, of.rank),
        (None, _) => Ok(None),
    }
}

/// Returns the host of rank 0.
fn host(env: Lookup<'_>, of: &Variables, rank: Rank) -> Result<String> {
    if let Some(host) = env("MASTER_ADDR") {
        return Ok(host);
    }
    if let Some(nodes) = env("SLURM_STEP_NODELIST").filter(|_| of.launcher == Launcher::Srun) {
        return Ok(first_node(&nodes));
    }
    let here = ["LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];
    for name in here {
        if number(env, name)? == Some(rank.world) {
            return Ok("127.0.0.1".to_owned());
        }
    }
    if rank.world == 1 {
        return Ok("127.0.0.1".to_owned());
    }
    Err(Error::Launcher(format!(
        "{} says that this is rank {} of {}, but rank 0's host is not set: set MASTER_ADDR",
        of.rank, rank.rank, rank.world
    )))
}

/// Returns the first host in a Slurm list such as `node[007-009,12],other`, which is `node007`.
fn first_node(nodes: &str) -> String {
    match nodes.split_once('[') {
        Some((name, list)) if !name.contains(',') => {
            let number = list.split([',', '-', ']']).next().unwrap_or_default();
            format!("{name}{number}")
        }
        _ => nodes.split(',').next().unwrap_or_default().to_owned(),
    }
}

/// Returns the port on which rank 0 listens: MASTER_PORT + 1, because torchrun itself listens on
/// MASTER_PORT.
fn port(env: Lookup<'_>, of: &Variables) -> Result<u16> {
    let after = |name: &str, port: u32| {
        let next = u16::try_from(port.saturating_add(1)).ok();
        next.ok_or_else(|| Error::Launcher(format!("{name} is {port}, but rank 0 listens on the next port, which does not exist: choose a smaller {name}")))
    };
    if let Some(port) = number(env, "MASTER_PORT")? {
        return after("MASTER_PORT", port);
    }
    // The port is derived from the job id, because jobs on the same machine need different ports.
    match number(env, "SLURM_JOB_ID")?.filter(|_| of.launcher == Launcher::Srun) {
        Some(job) => Ok(20_000 + (job % 20_000) as u16),
        None => Ok(29_501),
    }
}

/// Returns the socket address of rank 0. IPv4 addresses are preferred.
pub fn resolve(host: &str, port: u16) -> Result<SocketAddr> {
    let found = (host, port).to_socket_addrs();
    let wrong =
        |why: String| Error::Launcher(format!("rank 0's machine {host:?} has no address: {why}"));
    let mut all: Vec<SocketAddr> = found.map_err(|error| wrong(error.to_string()))?.collect();
    // If a name has several addresses, all ranks must choose the same address, because rank 0
    // listens only at this address.
    all.sort_by_key(|address| !address.is_ipv4());
    all.first().copied().ok_or_else(|| wrong("the name is empty".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: &[(&str, &str)], launcher: Option<Launcher>) -> Result<Option<Launched>> {
        let lookup = |name: &str| {
            all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        launched(&lookup, launcher)
    }

    fn says(all: &[(&str, &str)]) -> String {
        of(all, None).unwrap_err().to_string()
    }

    #[test]
    fn without_a_launcher() {
        assert_eq!(of(&[("SLURM_NTASKS", "2"), ("MASTER_ADDR", "x")], None).unwrap(), None);
    }

    #[test]
    fn torchrun() {
        let all = [
            ("RANK", "1"),
            ("WORLD_SIZE", "2"),
            ("LOCAL_RANK", "0"),
            ("MASTER_ADDR", "gpu7"),
            ("MASTER_PORT", "29500"),
            ("TORCHELASTIC_RUN_ID", "none"),
            ("TORCHELASTIC_RESTART_COUNT", "3"),
        ];
        let launched = of(&all, None).unwrap().unwrap();
        assert_eq!(launched.rank, Rank { rank: 1, world: 2 });
        assert_eq!((launched.local, launched.port), (0, 29501));
        assert_eq!((launched.host.as_str(), launched.job.as_str()), ("gpu7", "none.3"));
    }

    #[test]
    fn srun_and_mpirun() {
        let all = [
            ("SLURM_PROCID", "3"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_STEP_NODELIST", "node[007-009],other"),
            ("SLURM_JOB_ID", "1234567"),
        ];
        let launched = of(&all, None).unwrap().unwrap();
        assert_eq!((launched.host.as_str(), launched.port), ("node007", 34567));
        let all = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        ];
        let launched = of(&all, None).unwrap().unwrap();
        assert_eq!((launched.host.as_str(), launched.local), ("127.0.0.1", 1));
        assert!(says(&all[..2]).contains("set MASTER_ADDR"));
        for (nodes, first) in [("a,b", "a"), ("a[1]", "a1"), ("a", "a"), ("a,b[1-2]", "a")] {
            assert_eq!(first_node(nodes), first);
        }
    }

    #[test]
    fn contradictory_variables_are_errors() {
        assert_eq!(
            says(&[("RANK", "2"), ("WORLD_SIZE", "2")]),
            "RANK is 2, but WORLD_SIZE is 2: ranks are 0 to 1"
        );
        assert_eq!(
            says(&[("RANK", "0")]),
            "RANK is set and WORLD_SIZE is not: start all ranks with one launcher"
        );
        assert_eq!(
            says(&[("RANK", "x"), ("WORLD_SIZE", "2")]),
            "RANK is \"x\", which is not a number"
        );
        assert!(says(&[("RANK", "0"), ("WORLD_SIZE", "0")]).contains("WORLD_SIZE is 0"));
        let two = [
            ("RANK", "0"),
            ("WORLD_SIZE", "2"),
            ("SLURM_PROCID", "1"),
            ("SLURM_NTASKS", "2"),
            ("MASTER_ADDR", "h"),
        ];
        assert_eq!(
            says(&two),
            "two launchers disagree: RANK is 0, SLURM_PROCID is 1; choose one with --launcher"
        );
        let named = of(&two, Some(Launcher::Srun)).unwrap().unwrap();
        assert_eq!(named.rank.rank, 1);
        assert!(of(&two, Some(Launcher::Openmpi)).is_err());
        let last = [("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_PORT", "65535")];
        assert_eq!(
            says(&last),
            "MASTER_PORT is 65535, but rank 0 listens on the next port, which does not exist: choose a smaller MASTER_PORT"
        );
    }
}
