//! Implements `cargo x book --serve`, which serves the pages to this machine only, and rebuilds
//! them when something changes. A page can also ask for an edited kernel to be compiled.

mod compile;
mod include;
mod limited;
mod request;

pub(crate) use compile::{PROGRAM, WORD, child};

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::BuildHasher,
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    path::{Component, Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use request::{Refusal, Request};

const PORT: u16 = 3000;
/// The maximum number of bytes of a refused request that are read.
const REST: u64 = 1 << 22;

/// Serves a folder until the program is stopped.
pub(crate) fn run(html: &Path, build: impl Fn() -> Result<()>) -> Result<()> {
    let address = start(html, PORT)?;
    println!("serving on {address}/; stop with Ctrl-C");
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

/// Starts a server for a folder, which runs until the program ends, and returns the server's
/// address. If the port is 0, a free port is chosen.
pub(crate) fn start(html: &Path, port: u16) -> Result<String> {
    let compiled = |body: &[u8]| compile::answer(body);
    Server::start(html, port, compiled)
}

/// A function that compiles an edited kernel, with JSON as its input and output.
type Compiled = fn(&[u8]) -> Result<Vec<u8>, Refusal>;

/// A folder, and the rules for access to it.
struct Server {
    folder: PathBuf,
    port: u16,
    /// A secret that only our own pages contain.
    token: String,
    compiled: Compiled,
}

impl Server {
    fn start(html: &Path, port: u16, compiled: Compiled) -> Result<String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("serving on {}:{port}", Ipv4Addr::LOCALHOST))?;
        let address = listener.local_addr()?;
        let (folder, port, token) = (html.to_owned(), address.port(), token());
        let server = Arc::new(Server { folder, port, token, compiled });
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = server.clone();
                // An error is ignored, because a browser that has closed the connection cannot read
                // the error message.
                thread::spawn(move || server.serve(&stream));
            }
        });
        Ok(format!("http://{address}"))
    }

    fn serve(&self, stream: &TcpStream) -> Result<()> {
        let answer = request::read(stream).and_then(|request| self.answer(&request));
        let refused = answer.is_err();
        let (status, kind, body) = match answer {
            Ok((kind, body)) => ("200 OK", kind, body),
            Err(refusal) => (refusal.status, refusal.kind, refusal.body),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let mut stream = stream;
        stream.write_all(head.as_bytes())?;
        stream.write_all(&body)?;
        if refused {
            // The rest of the request is read first, because closing the connection now would reset
            // it before the client reads the reply.
            stream.shutdown(Shutdown::Write)?;
            io::copy(&mut stream.take(REST), &mut io::sink())?;
        }
        Ok(())
    }

    /// Returns the type and the contents of the reply.
    fn answer(&self, request: &Request) -> Result<(&'static str, Vec<u8>), Refusal> {
        // A request with another host name may come from a page that tries to read ours.
        let names = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        if !names.contains(&request.host) {
            return Err(Refusal::forbidden(format!(
                "this server is {}, but the request is for `{}`",
                names[0], request.host
            )));
        }
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", path) => self.file(path),
            ("POST", "/compile") => {
                let own = format!("http://{}", request.host);
                if request.origin != own {
                    return Err(Refusal::forbidden(format!(
                        "kernels are compiled only for pages from {own}, not for those from {}",
                        if request.origin.is_empty() {
                            "an unknown origin"
                        } else {
                            &request.origin
                        }
                    )));
                }
                if request.token != self.token {
                    return Err(Refusal::forbidden(
                        "this page came from an earlier server: reload it".into(),
                    ));
                }
                Ok(("application/json", (self.compiled)(&request.body)?))
            }
            (method, path) => Err(Refusal::new(
                "405 Method Not Allowed",
                format!("there is no {method} for {path}: use GET for pages and POST for /compile"),
            )),
        }
    }

    fn file(&self, path: &str) -> Result<(&'static str, Vec<u8>), Refusal> {
        let path = Path::new(path.trim_start_matches('/'));
        let path = if path.as_os_str().is_empty() { Path::new("index.html") } else { path };
        // A path must not lead out of the folder.
        let safe = path.components().all(|part| matches!(part, Component::Normal(_)));
        let body = fs::read(self.folder.join(path)).ok().filter(|_| safe).ok_or_else(|| {
            let page = fs::read(self.folder.join("404.html")).unwrap_or_default();
            Refusal { status: "404 Not Found", kind: HTML, body: self.with_token(page) }
        })?;
        Ok(match path.extension().and_then(|extension| extension.to_str()) {
            Some("css") => ("text/css", body),
            Some("js") => ("text/javascript", body),
            Some("json") => ("application/json", body),
            Some("svg") => ("image/svg+xml", body),
            Some("png") => ("image/png", body),
            _ => (HTML, self.with_token(body)),
        })
    }

    /// Adds the token to a page. The token also tells the page that there is a compiler.
    fn with_token(&self, page: Vec<u8>) -> Vec<u8> {
        let meta = format!("<meta name=\"compile\" content=\"{}\"></head>", self.token);
        match String::from_utf8(page) {
            Ok(text) => text.replacen("</head>", &meta, 1).into_bytes(),
            Err(other) => other.into_bytes(),
        }
    }
}

const HTML: &str = "text/html; charset=utf-8";

/// Returns 128 random bits: two hashes, which the standard library seeds with random bits from the
/// system.
fn token() -> String {
    let random = || RandomState::new().hash_one(SystemTime::now());
    format!("{:016x}{:016x}", random(), random())
}

/// Returns the files from which the book is made.
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
        "exercises",
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

#[cfg(test)]
mod tests;
