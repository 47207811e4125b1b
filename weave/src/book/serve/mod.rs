//! `cargo x book --serve`: the pages on this machine only, built again when something changes.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Component, Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};

const ADDRESS: &str = "127.0.0.1:3000";

/// Serves a folder until the program is stopped.
pub(crate) fn run(html: &Path, build: impl Fn() -> Result<()>) -> Result<()> {
    let listener = TcpListener::bind(ADDRESS).with_context(|| format!("serving on {ADDRESS}"))?;
    println!("serving on http://{ADDRESS}/; stop with Ctrl-C");
    let folder = html.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A browser that hangs up has no reader for the error.
            let _ = answer(&folder, stream);
        }
    });
    let mut seen = newest(&watched());
    loop {
        thread::sleep(Duration::from_millis(500));
        let now = newest(&watched());
        if now > seen {
            seen = now;
            if let Err(error) = build() {
                println!("error: {error:#}");
            }
        }
    }
}

/// What the book is made from.
fn watched() -> Vec<PathBuf> {
    let root = xtask::root();
    [
        "book/src",
        "book/theme",
        "book/live",
        "book/figures",
        "book/generated",
        "book/book.toml",
        "book/cite.toml",
        "results",
        "steps",
    ]
    .map(|path| root.join(path))
    .into()
}

fn newest(paths: &[PathBuf]) -> Option<SystemTime> {
    let time = |path: &PathBuf| -> Option<SystemTime> {
        if path.is_dir() {
            let inner: Vec<PathBuf> =
                fs::read_dir(path).ok()?.flatten().map(|e| e.path()).collect();
            return newest(&inner);
        }
        fs::metadata(path).ok()?.modified().ok()
    };
    paths.iter().filter_map(time).max()
}

/// Answers one request with a file.
fn answer(folder: &Path, mut stream: TcpStream) -> Result<()> {
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or("/").split(['?', '#']).next().unwrap_or("/");
    let path = Path::new(path.trim_start_matches('/'));
    // Nothing above the folder.
    let safe = path.components().all(|part| matches!(part, Component::Normal(_)));
    let path = if path.as_os_str().is_empty() { Path::new("index.html") } else { path };
    let (status, body) = match fs::read(folder.join(path)).ok().filter(|_| safe) {
        Some(body) => ("200 OK", body),
        None => ("404 Not Found", fs::read(folder.join("404.html")).unwrap_or_default()),
    };
    let kind = match path.extension().and_then(|extension| extension.to_str()) {
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "text/html; charset=utf-8",
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    Ok(stream.write_all(&body)?)
}
