//! Raw HTTP to a node: tests see the bytes on the wire, and send what no client library would.

use serde_json::Value;
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// Timeout of an answer; a node's own patience with its store is 2 s.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A node's answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    pub status: u16,
    /// The body; null if it is not JSON.
    pub body: Value,
}

impl Answer {
    /// Parses an answer; `None` if it is none.
    pub fn parse(text: &str) -> Option<Answer> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        Some(Answer { status, body: serde_json::from_str(body).unwrap_or_default() })
    }

    /// The number in the answer to `/next`.
    pub fn seq(&self) -> Option<u64> {
        if self.status == 200 { self.body["seq"].as_u64() } else { None }
    }
}

/// A request with these lines after its first.
pub fn request(method: &str, path: &str, lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|l| format!("{l}\r\n")).collect();
    format!("{method} {path} HTTP/1.1\r\nhost: node\r\nconnection: close\r\n{lines}\r\n")
}

/// Sends bytes, and returns the answer until the other side closes, resets, or is silent for [`PATIENCE`].
pub fn send(to: SocketAddr, bytes: &[u8]) -> String {
    let Ok(mut stream) = TcpStream::connect(to) else { return String::new() };
    let _ = (stream.set_read_timeout(Some(PATIENCE)), stream.set_write_timeout(Some(PATIENCE)));
    // A server that rejects early may close while the client still sends.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        answer.extend(&buffer[..count]);
    }
    super::text(&answer)
}

/// Asks a node; `None` if no answer came. Without any answer it asks again, as any client would: these requests may be
/// repeated.
pub fn ask(node: SocketAddr, method: &str, path: &str) -> Option<Answer> {
    patiently(node, &request(method, path, &[]))
}

fn patiently(node: SocketAddr, request: &str) -> Option<Answer> {
    (0..3).find_map(|_| Answer::parse(&send(node, request.as_bytes())))
}

/// A number, under a request's name.
pub fn next(node: SocketAddr, name: &str) -> Option<Answer> {
    patiently(node, &request("POST", "/next", &[&format!("fencepost-request: {name}")]))
}

/// A node's status.
pub fn status(node: SocketAddr) -> Value {
    ask(node, "GET", "/status").map(|a| a.body).unwrap_or_default()
}

/// True if the node acts as leader.
pub fn leads(node: SocketAddr) -> bool {
    status(node)["acting"] == true
}
