//! A request as it comes over a socket, and the answer of who does not get what it asks for.

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    time::Duration,
};

/// The most that a head may have, in bytes.
const HEAD: u64 = 1 << 14;
/// The most that a body may have: a kernel of the largest size with every character escaped.
const BODY: u64 = 1 << 19;
/// Who says nothing for so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is asked, and by whom.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without what stands behind `?`.
    pub(super) path: String,
    pub(super) host: String,
    /// The place of the page that asks.
    pub(super) origin: String,
    /// What `X-Compile` says.
    pub(super) token: String,
    pub(super) body: Vec<u8>,
}

/// No, and why.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: &'static str,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
}

impl Refusal {
    /// A sentence, as a page takes it.
    pub(super) fn new(status: &'static str, why: String) -> Refusal {
        let body = serde_json::json!({ "error": why }).to_string().into_bytes();
        Refusal { status, kind: "application/json", body }
    }

    pub(super) fn forbidden(why: String) -> Refusal {
        Refusal::new("403 Forbidden", why)
    }

    pub(super) fn bad(why: String) -> Refusal {
        Refusal::new("400 Bad Request", why)
    }

    pub(super) fn large(why: String) -> Refusal {
        Refusal::new("413 Content Too Large", why)
    }
}

pub(super) fn read(stream: &TcpStream) -> Result<Request, Refusal> {
    let unread = |error: std::io::Error| Refusal::bad(format!("the request ends early: {error}"));
    stream.set_read_timeout(Some(PATIENCE)).map_err(unread)?;
    let mut reader = BufReader::new(stream);
    let mut head = (&mut reader).take(HEAD);
    let mut line = || -> Result<String, Refusal> {
        let mut line = String::new();
        head.read_line(&mut line).map_err(unread)?;
        match line.strip_suffix('\n') {
            Some(line) => Ok(line.trim_end().to_owned()),
            None => {
                Err(Refusal::bad(format!("a head of at most {HEAD} bytes ends with an empty line")))
            }
        }
    };
    let first = line()?;
    let mut words = first.split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (method, path) = (word(), word());
    let path = path.split(['?', '#']).next().unwrap_or_default().to_owned();
    let mut request = Request { method, path, ..Request::default() };
    let mut length = 0u64;
    loop {
        let line = line()?;
        let Some((name, value)) = line.split_once(':') else { break };
        let value = value.trim().to_owned();
        match name.to_ascii_lowercase().as_str() {
            "host" => request.host = value,
            "origin" => request.origin = value,
            "x-compile" => request.token = value,
            "content-length" => {
                length = value.parse().map_err(|_| {
                    Refusal::bad(format!("`{value}` is no number of bytes that follow"))
                })?;
            }
            _ => {}
        }
    }
    if length > BODY {
        return Err(Refusal::large(format!(
            "a request has at most {BODY} bytes, and this one {length}"
        )));
    }
    request.body.resize(length as usize, 0);
    reader.read_exact(&mut request.body).map_err(unread)?;
    Ok(request)
}
