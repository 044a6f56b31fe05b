//! Whether a member has started, which is asked at its port.

use crate::drill::file::Ready;
use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

/// How often it is asked.
const ASKED_EVERY: Duration = Duration::from_millis(50);
/// How long an answer may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Whether a process has been found to be ready; each has its own.
#[derive(Clone, Debug, Default)]
pub struct Found(Arc<AtomicBool>);

impl Found {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Asks until it is ready, or nobody wants to know any more.
pub async fn ask(ready: Ready, at: SocketAddr, found: Found) {
    while Arc::strong_count(&found.0) > 1 {
        if matches!(timeout(ANSWERS_WITHIN, is_ready(&ready, at)).await, Ok(Ok(true))) {
            return found.set();
        }
        sleep(ASKED_EVERY).await;
    }
}

async fn is_ready(ready: &Ready, at: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect(at).await?;
    let Ready::Answers(path) = ready else { return Ok(true) };
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n").as_bytes()).await?;
    let mut status = [0; "HTTP/1.1 2".len()];
    stream.read_exact(&mut status).await?;
    Ok(status.starts_with(b"HTTP/1.") && status.ends_with(b" 2"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn only_an_answer_of_2xx_is_ready() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = listener.local_addr().expect("its address");
        let answering = tokio::spawn(async move {
            for status in ["503 Service Unavailable", "204 No Content"] {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let mut asked = [0; 256];
                let length = stream.read(&mut asked).await.expect("a request");
                assert!(asked[..length].starts_with(b"GET /healthz HTTP/1.1\r\n"));
                stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await.expect("an answer");
            }
            listener
        });
        let answers = Ready::Answers("/healthz".to_owned());
        assert!(!is_ready(&answers, at).await.expect("an answer"));
        assert!(is_ready(&answers, at).await.expect("an answer"));
        let listener = answering.await.expect("both were asked");
        assert!(is_ready(&Ready::Listens, at).await.expect("it listens"));
        drop(listener);
        assert!(is_ready(&Ready::Listens, at).await.is_err());
    }
}
