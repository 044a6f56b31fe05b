//! Queries the status of nodes and stores over HTTP.

use protocols_clients::site::Endpoint;
use protocols_real::tls::Tls;
use rustls_pki_types::ServerName;
use serde::{Deserialize, Serialize};
use std::{io, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};

/// Largest answer that is read, bytes; metrics are long.
const ANSWER_MAX: u64 = 1 << 20;

/// A node's answer at `/status`, as far as it is shown here.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// Its role in the fleet.
    pub role: String,
    /// The token of its leadership, if it believes in one; 0 if the protocol has no tokens.
    pub fence_token: Option<u64>,
    /// How long its belief lasts from now.
    pub lease_ttl_remaining_ms: Option<u64>,
    /// It leads, has sealed every resource, and the store answers.
    pub acting: bool,
    /// The leader, as far as it knows.
    pub leader: Option<String>,
    /// Why it does not act.
    pub reason: Option<String>,
    /// How long ago the store last accepted one of its writes.
    #[serde(default)]
    pub last_write_accepted_ms_ago: Option<u64>,
}

impl Status {
    /// True if it believes that it leads.
    pub fn leads(&self) -> bool {
        self.role == "leader"
    }
}

/// Why a node gave no usable answer, in a few words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoAnswer {
    #[error("refuses connections")]
    Refused,
    #[error("{0}")]
    Broken(String),
    #[error("no answer within {0} ms")]
    Late(u128),
    #[error("answers something that is not HTTP")]
    NoHttp,
    #[error("answers {path} with status {status}")]
    Status { path: String, status: String },
    #[error("answers, but not like a node")]
    NoNode,
}

/// An HTTP client with a timeout, over plain text or TLS.
#[derive(Clone)]
pub struct Asker {
    /// The trusted authorities, if TLS is used.
    pub tls: Option<Tls>,
    /// Timeout of an answer.
    pub within: Duration,
}

impl Asker {
    /// The body of a successful answer.
    ///
    /// # Errors
    /// Why there is none, in a few words.
    pub async fn get(&self, at: &Endpoint, path: &str) -> Result<String, NoAnswer> {
        let answer = match tokio::time::timeout(self.within, self.exchange(at, path)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(NoAnswer::Refused);
            }
            Ok(Err(error)) => return Err(NoAnswer::Broken(error.to_string())),
            Err(_) => return Err(NoAnswer::Late(self.within.as_millis())),
        };
        let (head, body) = answer.split_once("\r\n\r\n").ok_or(NoAnswer::NoHttp)?;
        match head.split(' ').nth(1) {
            Some("200") => Ok(body.to_owned()),
            code => Err(NoAnswer::Status { path: path.to_owned(), status: code.unwrap_or("none").to_owned() }),
        }
    }

    /// A node's status.
    ///
    /// # Errors
    /// As [`Asker::get`].
    pub async fn status(&self, at: &Endpoint) -> Result<Status, NoAnswer> {
        let body = self.get(at, "/status").await?;
        serde_json::from_str(&body).map_err(|_| NoAnswer::NoNode)
    }

    async fn exchange(&self, at: &Endpoint, path: &str) -> io::Result<String> {
        let stream = TcpStream::connect((at.host.as_str(), at.port)).await?;
        match &self.tls {
            None => read(stream, at, path).await,
            Some(tls) => {
                let connector = tls.connector("").map_err(io::Error::other)?;
                let name = ServerName::try_from(at.host.clone()).map_err(io::Error::other)?;
                read(connector.connect(name, stream).await?, at, path).await
            }
        }
    }
}

async fn read(mut stream: impl AsyncRead + AsyncWrite + Unpin, at: &Endpoint, path: &str) -> io::Result<String> {
    let host = &at.host;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut answer).await?;
    Ok(answer)
}
