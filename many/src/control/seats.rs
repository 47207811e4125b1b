//! Checks that the connected ranks belong to the same sum.

use super::wire::Hello;

/// Returns a description of a rank.
pub fn name(hello: &Hello) -> String {
    format!("rank {} ({}, pid {})", hello.rank, hello.host, hello.pid)
}

/// Returns the reason why a new rank cannot join the connected ranks, or `None` if it can.
pub fn contradiction(there: &[Hello], new: &Hello) -> Option<String> {
    let zero = there.first()?;
    if new.world != zero.world {
        return Some(format!(
            "WORLD_SIZE is {} for {}, but {} for {}: start all ranks with one launcher",
            zero.world,
            name(zero),
            new.world,
            name(new)
        ));
    }
    if new.rank >= new.world {
        return Some(format!(
            "RANK is {} for {}, but WORLD_SIZE is {}: ranks are 0 to {}",
            new.rank,
            name(new),
            new.world,
            i64::from(new.world) - 1
        ));
    }
    let place = |hello: &Hello| format!("{}, pid {}", hello.host, hello.pid);
    if let Some(twin) = there.iter().find(|hello| hello.rank == new.rank) {
        return Some(format!(
            "two processes claim to be rank {}: {} and {}",
            new.rank,
            place(twin),
            place(new)
        ));
    }
    if let Some(other) = there.iter().find(|hello| !new.gpu.is_empty() && hello.gpu == new.gpu) {
        return Some(format!(
            "ranks {} and {} both use {}: give each its own GPU",
            other.rank, new.rank, new.gpu
        ));
    }
    if new.nccl != zero.nccl {
        let version = |nccl: u32| match nccl {
            0 => "none".to_owned(),
            _ => crate::nccl::version(nccl),
        };
        return Some(format!(
            "{} has NCCL {}, but {} has {}: all ranks need the same version",
            name(zero),
            version(zero.nccl),
            name(new),
            version(new.nccl)
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(rank: u32) -> Hello {
        let (host, gpu) = ("h".to_owned(), format!("GPU-{rank}"));
        Hello { rank, world: 3, job: "j".into(), host, pid: 100 + rank, gpu, nccl: 22809 }
    }

    #[test]
    fn ranks_that_fit_have_no_contradiction() {
        assert_eq!(contradiction(&[], &hello(0)), None);
        assert_eq!(contradiction(&[hello(0), hello(2)], &hello(1)), None);
    }

    #[test]
    fn every_contradiction_names_both_sides() {
        let says = |new: Hello| contradiction(&[hello(0), hello(1)], &new).unwrap();
        assert_eq!(
            says(Hello { world: 4, ..hello(2) }),
            "WORLD_SIZE is 3 for rank 0 (h, pid 100), but 4 for rank 2 (h, pid 102): start all ranks with one launcher"
        );
        assert_eq!(
            says(Hello { rank: 3, ..hello(2) }),
            "RANK is 3 for rank 3 (h, pid 102), but WORLD_SIZE is 3: ranks are 0 to 2"
        );
        assert_eq!(
            says(Hello { rank: 1, ..hello(2) }),
            "two processes claim to be rank 1: h, pid 101 and h, pid 102"
        );
        assert_eq!(
            says(Hello { gpu: "GPU-1".into(), ..hello(2) }),
            "ranks 1 and 2 both use GPU-1: give each its own GPU"
        );
        assert_eq!(
            says(Hello { nccl: 22703, ..hello(2) }),
            "rank 0 (h, pid 100) has NCCL 2.28.9, but rank 2 (h, pid 102) has 2.27.3: all ranks need the same version"
        );
    }
}
