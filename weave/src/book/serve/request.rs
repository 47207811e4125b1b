//! A request from a socket, and the response to a request that is refused.

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    time::Duration,
};

/// The maximum size of a request's head, in bytes.
const HEAD: u64 = 1 << 14;
/// The maximum size of a request's body, in bytes, which is enough for the largest kernel with
/// every character escaped.
const BODY: u64 = 1 << 19;
/// The time limit for a client that sends nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// An HTTP request.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path, without the query.
    pub(super) path: String,
    pub(super) host: String,
    /// The origin of the page that sent the request.
    pub(super) origin: String,
    /// The value of the header `X-Compile`.
    pub(super) token: String,
    pub(super) body: Vec<u8>,
}

/// A refusal, with the status and the reason.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: &'static str,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
}

impl Refusal {
    /// Creates a refusal whose body is a sentence as JSON, for a page.
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
            None => Err(Refusal::bad(format!(
                "the head must end with an empty line and have at most {HEAD} bytes"
            ))),
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
                length = value
                    .parse()
                    .map_err(|_| Refusal::bad(format!("`{value}` is not a number of bytes")))?;
            }
            _ => {}
        }
    }
    if length > BODY {
        return Err(Refusal::large(format!(
            "a request can have at most {BODY} bytes, but this one has {length}"
        )));
    }
    request.body.resize(length as usize, 0);
    reader.read_exact(&mut request.body).map_err(unread)?;
    Ok(request)
}
