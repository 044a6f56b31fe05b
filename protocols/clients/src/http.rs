//! HTTP/1.1 for the services that speak JSON: a connection pool like that of Go's `net/http` (golang/go,
//! `src/net/http/transport.go: getConn, tryPutIdleConn, shouldRetryRequest`), over `hyper` and the process's own
//! [`Env`].
//!
//! A request takes the most recently used idle connection, or dials. A connection that the server closed while it was
//! idle is noticed at its next use; the request is sent again on another one if none of it had gone out. Giving up a
//! request closes its connection. In a pool with a limit (`MaxConnsPerHost`), requests take turns, in order. Dial timeout
//! and TCP keepalive are Go's (30 s each: `net/http`'s default dialer, which Consul's client and client-go use too).
//! Nothing is compressed, redirects are not followed, and there are no other timers.

use crate::{env::Env, site::Endpoint};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    HeaderMap, Method, Request,
    body::Bytes,
    client::conn::http1,
    header::{CONTENT_TYPE, HOST},
};
use hyper_util::rt::TokioIo;
use protocols::{error::Failure, types::SECOND};
use std::{
    fmt::Display,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::Semaphore;

/// The timeout of a dial, nanoseconds.
const CONNECT_TIMEOUT: u64 = 30 * SECOND;
/// The interval between TCP keepalive probes on a silent connection, nanoseconds.
const KEEPALIVE: u64 = 30 * SECOND;
/// The longest answer that is accepted, bytes. No service here sends a longer one.
const ANSWER_MAX: usize = 4 << 20;

/// A complete answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// The body as text, for refusals; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).trim_end().to_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// Unknown: an unreadable answer does not say what happened.
    pub fn json<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|why| unknown("an answer that cannot be read", why))
    }

    /// Rejected, in the server's words, if the status says that nothing was done; otherwise unknown.
    pub fn refusal(&self) -> Failure {
        let words = format!("{}: {}", self.status, self.text());
        if (400..500).contains(&self.status) { Failure::Rejected(words) } else { Failure::Unknown(words) }
    }

    /// A header as text; `None` if it is missing or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

fn unknown(what: &str, why: impl Display) -> Failure {
    Failure::Unknown(format!("{what}: {why}"))
}

pub struct Ask {
    method: Method,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

impl Ask {
    /// A request without a body. `target` is path and query, already encoded.
    pub fn new(method: Method, target: impl Into<String>) -> Ask {
        Ask { method, target: target.into(), headers: Vec::new(), body: Bytes::new() }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Ask {
        self.headers.push((name, value.into()));
        self
    }

    pub fn sending(mut self, body: impl Into<Bytes>) -> Ask {
        self.body = body.into();
        self
    }

    pub fn json(self, value: &impl serde::Serialize) -> Ask {
        // Only maps with text keys are sent, and those always serialise.
        let body = serde_json::to_vec(value).unwrap_or_default();
        self.with(CONTENT_TYPE.as_str(), "application/json").sending(body)
    }

    fn request(self, to: &Endpoint) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request = Request::builder().method(self.method).uri(self.target);
        request = request.header(HOST, format!("{}:{}", to.host, to.port));
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        request.body(Full::new(self.body)).map_err(|why| Failure::Rejected(format!("no request of HTTP: {why}")))
    }
}

/// Percent-encodes `text` for use in a path or a query; slashes stay.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => out.push(byte as char),
            byte => out += &format!("%{byte:02X}"),
        }
    }
    out
}

/// A client of one server. Clones share its connections.
pub struct Http<E: Env> {
    shared: Arc<Shared<E>>,
}

impl<E: Env> Clone for Http<E> {
    fn clone(&self) -> Self {
        Http { shared: self.shared.clone() }
    }
}

struct Shared<E: Env> {
    env: E,
    endpoint: Endpoint,
    /// The most recently used one is last.
    idle: Mutex<Vec<Connection<E>>>,
    /// A request's turn; `None` if all of them may be under way at once.
    turns: Option<Semaphore>,
}

struct Connection<E: Env> {
    sender: http1::SendRequest<Full<Bytes>>,
    /// Drives the connection; dropping it aborts that task.
    _driver: E::Task,
}

impl<E: Env> Http<E> {
    /// Dials nothing yet.
    pub fn new(env: E, endpoint: Endpoint) -> Self {
        Http { shared: Arc::new(Shared { env, endpoint, idle: Mutex::default(), turns: None }) }
    }

    /// The same with no more than so many connections, none of which is there yet.
    #[must_use]
    pub fn at_most(self, connections: usize) -> Self {
        let (env, endpoint) = (self.shared.env.clone(), self.shared.endpoint.clone());
        let turns = Some(Semaphore::new(connections));
        Http { shared: Arc::new(Shared { env, endpoint, idle: Mutex::default(), turns }) }
    }

    /// Sends a request and waits for the whole answer, without a timeout.
    ///
    /// # Errors
    /// Rejected if the request is malformed; unknown if there is no connection, or it breaks before the end of the
    /// answer.
    pub async fn ask(&self, ask: Ask) -> Result<Answer, Failure> {
        let mut request = ask.request(&self.shared.endpoint)?;
        let turn = match &self.shared.turns {
            Some(turns) => turns.acquire().await.ok(),
            None => None,
        };
        let mut unanswered = Unanswered(turn.as_ref().map(|_| &*self.shared));
        loop {
            let (mut connection, reused) = match self.shared.take() {
                Some(connection) => (connection, true),
                None => (self.shared.dial().await?, false),
            };
            if connection.sender.ready().await.is_err() && reused {
                continue;
            }
            let answer = match connection.sender.try_send_request(request).await {
                Ok(answer) => answer,
                Err(mut error) => match error.take_message() {
                    Some(unsent) if reused => {
                        request = unsent;
                        continue;
                    }
                    _ => return Err(unknown("no answer", error.into_error())),
                },
            };
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, ANSWER_MAX).collect().await.map_err(|why| unknown("half an answer", why))?;
            unanswered.0 = None;
            self.shared.give_back(connection);
            return Ok(Answer { status: head.status.as_u16(), headers: head.headers, body: body.to_bytes() });
        }
    }
}

/// A request that takes its turn. If it is given up, or fails, the idle connections may be dead like its own: without
/// this, each of them would cost another request its timeout.
struct Unanswered<'a, E: Env>(Option<&'a Shared<E>>);

impl<E: Env> Drop for Unanswered<'_, E> {
    fn drop(&mut self) {
        if let Some(shared) = self.0 {
            shared.idle().clear();
        }
    }
}

impl<E: Env> Shared<E> {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection<E>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Connection<E>> {
        let mut idle = self.idle();
        idle.retain(|connection| !connection.sender.is_closed());
        idle.pop()
    }

    fn give_back(&self, connection: Connection<E>) {
        if !connection.sender.is_closed() {
            self.idle().push(connection);
        }
    }

    async fn dial(&self) -> Result<Connection<E>, Failure> {
        let dial = self.env.connect_kept_alive(&self.endpoint, KEEPALIVE);
        let stream = self.env.timeout(CONNECT_TIMEOUT, dial).await;
        let stream = stream.ok_or_else(|| Failure::Unknown("no connection within 30 s".to_owned()))?;
        let stream = stream.map_err(|why| unknown("no connection", why))?;
        let made = http1::handshake(TokioIo::new(stream)).await;
        let (sender, driver) = made.map_err(|why| unknown("no connection", why))?;
        let driver = self.env.spawn(async move {
            // The connection's request learns how it ended.
            let _ = driver.await;
        });
        Ok(Connection { sender, _driver: driver })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_safe_in_a_target_is_encoded() {
        assert_eq!(encoded("a/b c?d=é"), "a/b%20c%3Fd%3D%C3%A9");
    }
}
