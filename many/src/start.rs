//! One process a rank, started and watched by this one.

use std::{
    env,
    net::TcpListener,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use many::{Error, Result};
use rand::RngExt;

use crate::say::failed;

/// How long the others may take to end once a rank has failed: they are told within moments.
const LEAVE: Duration = Duration::from_secs(10);

/// Starts this program again, once a rank, and waits for all.
pub(crate) fn run(world: u32, port: Option<u16>) -> Result<()> {
    let cannot = |error: std::io::Error| failed(format!("cannot start a rank: {error}"));
    let port = match port {
        Some(port) => port,
        None => free_port().map_err(cannot)?,
    };
    let program = env::current_exe().map_err(cannot)?;
    let token: u128 = rand::rng().random();
    let mut ranks = Vec::new();
    for rank in 0..world {
        let mut command = Command::new(&program);
        command
            .args(env::args_os().skip(1))
            .env("RANK", rank.to_string())
            .env("LOCAL_RANK", rank.to_string())
            .env("WORLD_SIZE", world.to_string())
            .env("LOCAL_WORLD_SIZE", world.to_string())
            .env("MASTER_ADDR", "127.0.0.1")
            .env("MASTER_PORT", port.saturating_sub(1).to_string())
            .env("MANY_TOKEN", format!("{token:032x}"))
            .env("MANY_LEASH", "1")
            .stdin(Stdio::piped());
        if env::var_os("NCCL_NVLS_ENABLE").is_none() {
            command.env("NCCL_NVLS_ENABLE", "0");
        }
        match command.spawn() {
            Ok(child) => ranks.push(child),
            Err(error) => {
                end(&mut ranks);
                return Err(cannot(error));
            }
        }
    }
    wait(ranks)
}

/// A port that is free now, and whose neighbour below there is.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn wait(mut ranks: Vec<Child>) -> Result<()> {
    let mut deadline = None;
    let mut failures = Vec::new();
    let mut left: Vec<usize> = (0..ranks.len()).collect();
    while !left.is_empty() {
        left.retain(|rank| match ranks[*rank].try_wait() {
            Ok(None) => true,
            Ok(Some(status)) if status.success() => false,
            Ok(Some(status)) => {
                failures.push(format!("rank {rank} ended with {status}"));
                false
            }
            Err(error) => {
                failures.push(format!("rank {rank} cannot be waited for: {error}"));
                false
            }
        });
        if !failures.is_empty() {
            let until = *deadline.get_or_insert_with(|| Instant::now() + LEAVE);
            if Instant::now() >= until {
                end(&mut ranks);
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    match failures.first() {
        None => Ok(()),
        Some(first) => Err(Error::Gone(first.clone())),
    }
}

fn end(ranks: &mut [Child]) {
    for rank in ranks {
        let _ = rank.kill();
        let _ = rank.wait();
    }
}

/// Ends this process when the one that started it is gone: nothing is left behind.
pub(crate) fn leash() {
    if env::var_os("MANY_LEASH").is_some() {
        thread::spawn(|| {
            let mut none = [0];
            while std::io::Read::read(&mut std::io::stdin(), &mut none).is_ok_and(|n| n > 0) {}
            std::process::exit(3);
        });
    }
}
