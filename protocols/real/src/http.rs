//! Serves HTTP to untrusted clients: bounded connections, bounded time, optional TLS.

use axum::{
    Router,
    extract::Request,
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_rustls::TlsAcceptor;

/// How many connections are served at a time; more wait in the system's queue.
pub const CONNECTIONS_MAX: usize = 4096;
/// A connection is closed if a request's head, or a TLS handshake, takes longer than this.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);
/// How long open connections may take to finish when the server ends.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// The largest head of a request, bytes.
const HEAD_MAX: usize = 16 * 1024;

/// Serves `router` until `shutdown` ends, then gives requests under way some time to finish.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    shutdown: impl Future<Output = ()> + Send,
) {
    let router = router.layer(middleware::from_fn(without_coding));
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let (stop, stopped) = tokio::sync::watch::channel(());
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let place = tokio::select! {
            biased;
            () = &mut shutdown => break,
            // The semaphore is never closed.
            Ok(place) = places.clone().acquire_owned() => place,
        };
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        // Running out of file descriptors is temporary, and so is a peer that has already gone.
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let (tls, router, mut stopped) = (tls.clone(), router.clone(), stopped.clone());
        tokio::spawn(async move {
            let _place = place;
            let stop = async move { drop(stopped.changed().await) };
            if let Err(error) = connection(stream, tls, router, stop).await {
                tracing::debug!(%peer, error, "connection ended");
            }
        });
    }
    drop(listener);
    drop(stop);
    let all = places.acquire_many(CONNECTIONS_MAX as u32);
    // Connections still open by then are cut.
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, all).await;
}

/// Refuses requests with a transfer coding. No request here has a body, and where hyper finds a `Content-Length` beside
/// the coding it drops it, while a proxy in front may go by it and take the body's rest for another request (RFC 9112,
/// §6.1 and §11.2).
async fn without_coding(request: Request, next: Next) -> Response {
    if !request.headers().contains_key(header::TRANSFER_ENCODING) {
        return next.run(request).await;
    }
    let why = "{\"error\":\"no request has a body here; leave Transfer-Encoding out\"}";
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json"), (header::CONNECTION, "close")], why)
        .into_response()
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    stream.set_nodelay(true).map_err(|e| e.to_string())?;
    match tls {
        None => requests(TokioIo::new(stream), router, stop).await,
        Some(tls) => {
            let handshake = tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream)).await;
            let stream = handshake.map_err(|_| "no TLS handshake in time")?.map_err(|e| e.to_string())?;
            requests(TokioIo::new(stream), router, stop).await
        }
    }
}

async fn requests<S>(stream: S, router: Router, stop: impl Future<Output = ()>) -> Result<(), String>
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(HEAD_MAX);
    let mut connection = std::pin::pin!(builder.serve_connection(stream, TowerToHyperService::new(router)));
    let mut stop = std::pin::pin!(stop);
    tokio::select! {
        biased;
        ended = &mut connection => return ended.map_err(|e| e.to_string()),
        () = &mut stop => connection.as_mut().graceful_shutdown(),
    }
    connection.await.map_err(|e| e.to_string())
}

/// The server cannot listen on an address.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot listen on {address}: {why}")]
pub struct ListenError {
    pub address: SocketAddr,
    /// The operating system's error.
    pub why: String,
}

/// Listens for HTTP.
///
/// # Errors
/// The address cannot be bound, as one sentence.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|e| ListenError { address, why: e.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_request_whose_length_is_said_twice_is_refused_and_nothing_behind_it_is_read() {
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let router = Router::new().route("/next", post(|| async { "a number" }));
        let server = tokio::spawn(serve(listener, None, router, std::future::pending()));
        let (length, chunked) = ("content-length: 5\r\n", "transfer-encoding: chunked\r\n");
        let table = [
            (format!("{length}{chunked}"), "400", 0),
            (format!("{chunked}{length}"), "400", 0),
            (chunked.to_owned(), "400", 0),
            (length.to_owned(), "200", 2),
        ];
        for (lines, status, numbers) in table {
            let mut stream = TcpStream::connect(address).await.expect("it listens");
            let smuggled = "POST /next HTTP/1.1\r\nhost: n\r\nconnection: close\r\n\r\n";
            let asked = format!("POST /next HTTP/1.1\r\nhost: n\r\n{lines}\r\n0\r\n\r\n{smuggled}");
            stream.write_all(asked.as_bytes()).await.expect("it reads");
            let mut answer = Vec::new();
            // What is behind a refused request may be lost with the connection.
            let _ = stream.read_to_end(&mut answer).await;
            let answer = String::from_utf8_lossy(&answer);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{lines}: {answer}");
            assert_eq!(answer.matches("a number").count(), numbers, "{lines}: {answer}");
        }
        server.abort();
    }
}
