//! Starts one process for each rank, and watches them.

use std::{
    collections::HashSet,
    env,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use many::Error;
use rand::RngExt;

use crate::say::failed;

/// The time within which the other ranks must end after one rank has failed. The other ranks learn
/// of the failure within milliseconds.
const LEAVE: Duration = Duration::from_secs(10);

/// Starts this program again for each rank, and waits for all these processes.
pub(crate) fn run(world: u32, port: Option<u16>) -> many::Result<()> {
    let cannot = |error: std::io::Error| failed(format!("cannot start a rank: {error}"));
    let port = match port {
        Some(port) => port,
        None => free_port().map_err(cannot)?,
    };
    let program = env::current_exe().map_err(cannot)?;
    let token: u128 = rand::rng().random();
    let (mut ranks, mut readers) = (Vec::new(), Vec::new());
    let said = Arc::<Said>::default();
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
            .stdin(Stdio::piped())
            .stderr(Stdio::piped());
        if env::var_os("NCCL_NVLS_ENABLE").is_none() {
            command.env("NCCL_NVLS_ENABLE", "0");
        }
        match command.spawn() {
            Ok(mut child) => {
                if let Some(stderr) = child.stderr.take() {
                    let said = Arc::clone(&said);
                    readers.push(thread::spawn(move || said.pass_on(stderr)));
                }
                ranks.push(child);
            }
            Err(error) => {
                end(&mut ranks);
                return Err(cannot(error));
            }
        }
    }
    let done = wait(ranks);
    // If a reader panicked, the panic has already been printed.
    readers.into_iter().for_each(|reader| drop(reader.join()));
    done
}

/// The lines that the ranks write to standard error. Each distinct line is printed once, because
/// most ranks report the same error.
#[derive(Default)]
struct Said(Mutex<HashSet<String>>);

impl Said {
    /// The maximum number of lines that are printed.
    const MOST: usize = 50;

    fn pass_on(&self, from: impl Read) {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if said.len() < Self::MOST && said.insert(line.clone()) {
                // If standard error is closed, the line cannot be printed.
                let _ = writeln!(io::stderr(), "{line}");
            }
        }
    }
}

/// Returns a port that is free at the moment.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn wait(mut ranks: Vec<Child>) -> many::Result<()> {
    let mut deadline = None;
    let mut failures = Vec::new();
    let mut left: Vec<usize> = (0..ranks.len()).collect();
    while !left.is_empty() {
        left.retain(|rank| match ranks[*rank].try_wait() {
            Ok(None) => true,
            Ok(Some(status)) if status.success() => false,
            Ok(Some(status)) => {
                let text = format!("rank {rank} ended with {status}");
                // A rank exits with code 1 if its result has the wrong bits.
                failures.push(match status.code() {
                    Some(1) => Error::Bits(text),
                    _ => Error::Gone(text),
                });
                false
            }
            Err(error) => {
                failures.push(Error::Gone(format!("cannot wait for rank {rank}: {error}")));
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
    failures.into_iter().next().map_or(Ok(()), Err)
}

fn end(ranks: &mut [Child]) {
    for rank in ranks {
        let _ = rank.kill();
        let _ = rank.wait();
    }
}

/// Ends this process when its parent process ends, so that no process is left behind.
pub(crate) fn leash() {
    if env::var_os("MANY_LEASH").is_some() {
        thread::spawn(|| {
            let mut none = [0];
            while std::io::Read::read(&mut std::io::stdin(), &mut none).is_ok_and(|n| n > 0) {}
            std::process::exit(3);
        });
    }
}
