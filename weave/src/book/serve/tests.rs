use super::*;

/// Starts a server that has one page, and a compiler that returns its input.
fn server() -> (String, String) {
    let folder = std::env::temp_dir().join(format!("serve-test-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("index.html"), "<html><head></head><body>a page</body></html>").unwrap();
    fs::write(folder.join("a.js"), "</head>").unwrap();
    let address = Server::start(&folder, 0, |body| Ok([b"compiled ", body].concat())).unwrap();
    let host = address.strip_prefix("http://").unwrap().to_owned();
    let page = ask(&host, &format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    let token = page.split("name=\"compile\" content=\"").nth(1).unwrap();
    (host, token.split('"').next().unwrap().to_owned())
}

fn ask(host: &str, text: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn post(to: &str, host: &str, origin: &str, token: &str) -> String {
    let from = if origin.is_empty() { String::new() } else { format!("Origin: {origin}\r\n") };
    ask(
        to,
        &format!(
            "POST /compile HTTP/1.1\r\nHost: {host}\r\n{from}X-Compile: {token}\r\nContent-Length: 2\r\n\r\nit"
        ),
    )
}

#[test]
fn only_our_own_pages_are_compiled_for() {
    let (host, token) = server();
    let own = format!("http://{host}");
    let good = post(&host, &host, &own, &token);
    assert!(
        good.starts_with("HTTP/1.1 200 OK\r\n") && good.ends_with("\r\n\r\ncompiled it"),
        "{good}"
    );
    let by_name = host.replace("127.0.0.1", "localhost");
    assert!(post(&host, &by_name, &format!("http://{by_name}"), &token).contains(" 200 OK"));
    for (name, origin, token, said) in [
        (
            host.as_str(),
            "http://example.org",
            token.as_str(),
            "not for those from http://example.org",
        ),
        (&host, "http://127.0.0.1:1", &token, "not for those from http://127.0.0.1:1"),
        (&host, "null", &token, "not for those from null"),
        (&host, "", &token, "not for those from an unknown origin"),
        (&host, &own, "0123", "reload it"),
        (&host, &own, "", "reload it"),
        ("example.org", "http://example.org", &token, "the request is for `example.org`"),
    ] {
        let no = post(&host, name, origin, token);
        assert!(no.starts_with("HTTP/1.1 403 Forbidden\r\n") && no.contains(said), "{no}");
        assert!(!no.contains("compiled it"), "{no}");
    }
}

#[test]
fn pages_are_public_and_their_token_is_not() {
    let (host, token) = server();
    assert_eq!(token.len(), 32);
    assert_ne!(token, server().1);
    // A request with another host name gets no page, and therefore no token.
    let foreign = ask(&host, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n");
    assert!(foreign.starts_with("HTTP/1.1 403") && !foreign.contains(&token), "{foreign}");
    let script = ask(&host, &format!("GET /a.js HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(script.ends_with("\r\n\r\n</head>"), "{script}");
    for path in ["/../Cargo.toml", "//etc/passwd", "/none.html"] {
        let none = ask(&host, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(none.starts_with("HTTP/1.1 404"), "{path}: {none}");
    }
}

#[test]
fn invalid_requests_get_a_response() {
    let (host, token) = server();
    let own = format!("Host: {host}\r\nOrigin: http://{host}\r\nX-Compile: {token}\r\n");
    let large = ask(
        &host,
        &format!(
            "POST /compile HTTP/1.1\r\n{own}Content-Length: 600000\r\n\r\n{}",
            "x".repeat(600_000)
        ),
    );
    assert!(
        large.starts_with("HTTP/1.1 413")
            && large.contains("at most 524288 bytes, but this one has 600000"),
        "{large}"
    );
    let put = ask(&host, &format!("PUT /compile HTTP/1.1\r\n{own}\r\n"));
    assert!(put.starts_with("HTTP/1.1 405") && put.contains("no PUT for /compile"), "{put}");
    let length = ask(&host, &format!("POST /compile HTTP/1.1\r\n{own}Content-Length: -1\r\n\r\n"));
    assert!(
        length.starts_with("HTTP/1.1 400") && length.contains("`-1` is not a number"),
        "{length}"
    );
    let endless = ask(&host, &format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(20_000)));
    assert!(endless.starts_with("HTTP/1.1 400"), "{endless}");
}

#[test]
fn the_server_listens_on_the_loopback_interface_only() {
    let (host, _) = server();
    let address: std::net::SocketAddr = host.parse().unwrap();
    assert!(address.ip().is_loopback());
}
