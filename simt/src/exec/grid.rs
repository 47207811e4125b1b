//! Runs the clusters of a launch in order, in parallel, or in random order.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::env::{Env, Fault};
use super::rng::Rng;
use super::schedule::Turn;
use super::stuck::Watch;
use super::team::{QUIET, Team};
use crate::observer::Observer;
use crate::{Config, Schedule, Trap, TrapKind, parallel};

/// Number of clusters that report to one fork of the observer. This number does not depend on the
/// number of threads, so the results do not depend on it either.
const CHUNK: u64 = 16;
/// Number of chunks that run before their forks are merged. This number bounds the memory use, and
/// the time until an error is reported.
const WINDOW: u64 = 256;
/// Number of instructions that a cluster runs before the next cluster runs.
const QUANTUM: u64 = 1 << 20;

/// Maximum number of instructions for which a team with late reductions, or the start of the first
/// cluster, is delayed.
const LONG: u64 = 1 << 18;

type Ran<T> = Result<T, Box<Trap>>;

/// Runs all blocks.
pub(crate) fn run<O: Observer>(env: &Env<'_>, config: &Config, obs: &mut O) -> Ran<()> {
    obs.launch_begin(&env.info);
    let size: u64 = env.info.cluster.iter().map(|d| u64::from(*d)).product();
    let clusters = clusters(config, size, env.info.blocks() / size);
    if env.info.interleaved {
        in_turns(env, config, clusters, obs)?;
    } else {
        in_parallel(env, config, clusters, obs)?;
    }
    obs.launch_end(&env.info);
    Ok(())
}

/// Returns the range of clusters to run.
fn clusters(config: &Config, size: u64, all: u64) -> Range<u64> {
    match &config.blocks {
        Some(blocks) => {
            let end = all.min(blocks.end.div_ceil(size));
            (blocks.start / size).min(end)..end
        }
        None => 0..all,
    }
}

/// Runs clusters in parallel, because they do not interact.
fn in_parallel<O: Observer>(
    env: &Env<'_>,
    config: &Config,
    clusters: Range<u64>,
    obs: &mut O,
) -> Ran<()> {
    let chunks = (clusters.end - clusters.start).div_ceil(CHUNK);
    let mut executed = 0u64;
    let mut window = 0;
    while window < chunks {
        let end = (window + WINDOW).min(chunks);
        let failed = AtomicUsize::new(usize::MAX);
        let forks: Vec<O> = (window..end).map(|_| obs.fork()).collect();
        let budget = config.budget - executed;
        let run = |team: &mut Team<'_>, i: usize, mut fork: O| {
            // Only the first fault in block order is reported, so later chunks need not run.
            if failed.load(Ordering::Relaxed) < i {
                return (fork, Ok(0));
            }
            let first = clusters.start + (window + i as u64) * CHUNK;
            let part = first..(first + CHUNK).min(clusters.end);
            let result = chunk(team, part, budget, config, &mut fork);
            if result.is_err() {
                failed.fetch_min(i, Ordering::Relaxed);
            }
            (fork, result)
        };
        let results = parallel::map(config.threads, forks, || Team::new(env), run);
        for (fork, result) in results {
            obs.merge(fork);
            executed += result?;
            if executed > config.budget {
                let mut team = Team::new(env);
                team.start(clusters.start, &mut ());
                let detail = spent(config);
                return Err(team.trap(0, 0, Fault::new(TrapKind::Budget, 0, detail)));
            }
        }
        window = end;
    }
    Ok(())
}

fn chunk<O: Observer>(
    team: &mut Team<'_>,
    clusters: Range<u64>,
    budget: u64,
    config: &Config,
    obs: &mut O,
) -> Ran<u64> {
    let mut executed = 0;
    let mut watch = Watch::default();
    for cluster in clusters {
        team.start(cluster, obs);
        while team.turn(QUANTUM, obs)? == Turn::More {
            if executed + team.executed > budget {
                return Err(team.endless(&spent(config), obs));
            }
            watch.check(executed + team.executed, team, obs)?;
        }
        executed += team.executed;
        if executed > budget {
            break;
        }
    }
    Ok(executed)
}

/// Runs clusters that may interact. These clusters run on one thread, and several of them are
/// resident at a time.
fn in_turns<O: Observer>(
    env: &Env<'_>,
    config: &Config,
    clusters: Range<u64>,
    obs: &mut O,
) -> Ran<()> {
    let seed = match env.schedule {
        Schedule::Adversarial(seed) => Some(seed),
        _ => None,
    };
    let mut rng = Rng::new(seed.unwrap_or(0), u64::MAX);
    let size: u64 = env.info.cluster.iter().map(|d| u64::from(*d)).product();
    let room = (room(env, config) / size).max(1) as usize;
    // By default, one cluster runs at a time, and another starts only if the running one does not
    // end. A random schedule starts with eight clusters or, for one seed in four, with many, so that
    // the last cluster may run before most others have ended. For another seed in four, the first
    // cluster starts last, when the others have ended or wait.
    let (mut resident, quantum) = match seed {
        None => (1, QUANTUM),
        Some(seed) => (if seed % 4 == 3 { 256 } else { 8 }, 64),
    };
    resident = resident.min(room);
    let first_is_last = seed.is_some_and(|seed| seed % 4 == 2);
    let cluster = |next: u64| match first_is_last {
        true if next + 1 == clusters.end => clusters.start,
        true => next + 1,
        false => next,
    };
    let mut running: Vec<Team<'_>> = Vec::new();
    let mut idle: Vec<Team<'_>> = Vec::new();
    let (mut next, mut executed, mut at) = (clusters.start, 0u64, 0);
    let (mut watch, mut look) = (Watch::default(), QUANTUM);
    // The numbers of instructions at the last end of a cluster, and at the last change of `resident`.
    let (mut ended, mut grown) = (0, 0);
    while next < clusters.end || !running.is_empty() {
        while running.len() < resident && next < clusters.end {
            let last = first_is_last && next + 1 == clusters.end;
            // Some blocks poll in a way that does not look like waiting.
            if last && executed - ended <= LONG && running.iter().any(|team| !team.waits()) {
                break;
            }
            let mut team = idle.pop().unwrap_or_else(|| Team::new(env));
            team.start(cluster(next), obs);
            running.push(team);
            next += 1;
        }
        at = if seed.is_some() { rng.below(running.len()) } else { at % running.len() };
        if running[at].stall.until > executed {
            // If all teams are delayed, the chosen team runs.
            let mut others = (at..running.len()).chain(0..at);
            let long = running[at].stall.long;
            let runs =
                |i: &usize| running[*i].stall.until <= executed && !(long && running[*i].waits());
            at = others.find(runs).unwrap_or(at);
        }
        let quantum = if seed.is_some() { 1 + rng.next() % quantum } else { quantum };
        let before = running[at].executed;
        let turn = running[at].turn(quantum, obs)?;
        executed += running[at].executed - before;
        if executed > config.budget {
            return Err(running[at].endless(&spent(config), obs));
        }
        if executed >= look {
            look = executed + QUANTUM;
            watch.check(executed, &mut running[at], obs)?;
        }
        let stall = &mut running[at].stall;
        if std::mem::take(&mut stall.at_write) {
            // Half of the writes are delayed, until other blocks have run a few or many
            // instructions.
            let roll = rng.next();
            stall.released = true;
            let delay = if stall.long { LONG } else { 1 << (roll >> 1 & 15).min(12) };
            stall.until = if roll & 1 == 0 { executed + delay } else { 0 };
        }
        match turn {
            Turn::Done => {
                (ended, grown) = (executed, executed);
                idle.push(running.remove(at));
            }
            Turn::More if seed.is_none() => {
                resident = (resident + 1).min(room);
                at += 1;
            }
            // Under a random schedule, a block may wait for blocks that have not started.
            Turn::More if executed - grown > QUIET * resident as u64 => {
                grown = executed;
                resident = (2 * resident).min(room);
            }
            Turn::More => {}
        }
        // Blocks outside the chosen range never run, so a message of theirs never comes.
        if config.blocks.is_some()
            && next == clusters.end
            && running.iter().all(Team::waits_long)
            && let Some(team) = running.first_mut()
        {
            let polls = "the blocks that run only poll, and the other blocks do not run";
            return Err(team.endless(polls, obs));
        }
        // The device is full, and all resident blocks wait for blocks that do not fit.
        if running.len() == room && next < clusters.end && running.iter().all(Team::waits) {
            at %= running.len();
            return Err(running[at].crowded(room as u64 * size, config, obs));
        }
    }
    Ok(())
}

/// Returns the number of blocks that the device holds at once.
fn room(env: &Env<'_>, config: &Config) -> u64 {
    let a_multiprocessor = config.arch.resident(env.info.threads(), env.info.shared);
    u64::from(a_multiprocessor) * u64::from(config.sm_count)
}

fn spent(config: &Config) -> String {
    format!("the launch has used up its budget of {} warp instructions", config.budget)
}
