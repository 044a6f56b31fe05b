//! Asking nodes and stores over HTTP how they are.

use protocols_clients::site::Endpoint;
use protocols_real::tls::Tls;
use rustls_pki_types::ServerName;
use serde::{Deserialize, Serialize};
use std::{io, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};

/// Most bytes of an answer that are read; metrics are long.
const ANSWER_MAX: u64 = 1 << 20;

/// What a node says of itself at `/status`, as far as it is shown here.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// What it is to its fleet.
    pub role: String,
    /// The token of its leadership, if it believes in one; 0 where the protocol has none.
    pub fence_token: Option<u64>,
    /// How long it believes yet.
    pub lease_ttl_remaining_ms: Option<u64>,
    /// It leads, has sealed every resource, and the store answers.
    pub acting: bool,
    /// Who leads, as far as it knows.
    pub leader: Option<String>,
    /// Why it does not act.
    pub reason: Option<String>,
    /// How long ago the store last accepted something of it.
    #[serde(default)]
    pub last_write_accepted_ms_ago: Option<u64>,
}

impl Status {
    /// Does it believe that it leads?
    pub fn leads(&self) -> bool {
        self.role == "leader"
    }
}

/// Asks, in plain text or by TLS, and not for ever.
#[derive(Clone)]
pub struct Asker {
    /// Whom it trusts, where TLS is spoken.
    pub tls: Option<Tls>,
    /// How long an answer may take.
    pub within: Duration,
}

impl Asker {
    /// The body of a successful answer.
    ///
    /// # Errors
    /// A few words: why there is none.
    pub(super) async fn get(&self, at: &Endpoint, path: &str) -> Result<String, String> {
        let answer = match tokio::time::timeout(self.within, self.exchange(at, path)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err("refuses connections".to_owned());
            }
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err(format!("no answer within {} ms", self.within.as_millis())),
        };
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("answers something that is not HTTP")?;
        match head.split(' ').nth(1) {
            Some("200") => Ok(body.to_owned()),
            code => Err(format!("answers {} with status {}", path, code.unwrap_or("none"))),
        }
    }

    /// A node's status.
    ///
    /// # Errors
    /// As [`Asker::get`].
    pub(super) async fn status(&self, at: &Endpoint) -> Result<Status, String> {
        let body = self.get(at, "/status").await?;
        serde_json::from_str(&body).map_err(|_| "answers, but not as a node does".to_owned())
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
