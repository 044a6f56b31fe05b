//! TCP keepalive across a proxy: detects a peer that is cut off, in place of the kernels.
//!
//! Each kernel talks to the proxy, which answers keepalive probes whatever it blocks. A service that keeps a client's
//! locks until the kernel gives up its connection would therefore never notice a partition, so the proxy closes the
//! connection.

use std::{
    io,
    net::{Shutdown, TcpStream as StdStream},
    time::Duration,
};
use tokio::{net::TcpStream, sync::watch, task::AbortHandle};

/// Watches a connection until dropped.
pub(crate) struct Keepalive(AbortHandle);

impl Drop for Keepalive {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Closes the service's end of the connection once a gate has been closed for `gives_up_after` at a stretch. (A kernel
/// would count from the last sign of life, up to one probe interval earlier.) The client learns of it when its own
/// direction opens again.
///
/// # Errors
/// The socket cannot be duplicated.
pub(crate) fn watch<G: Send + Sync + 'static>(
    service: TcpStream,
    gates: [watch::Receiver<G>; 2],
    is_closed: fn(&G) -> bool,
    gives_up_after: Duration,
) -> io::Result<(TcpStream, Keepalive)> {
    let service = service.into_std()?;
    let ended = service.try_clone()?;
    let task = tokio::spawn(end_when_silent(ended, gates, is_closed, gives_up_after));
    Ok((TcpStream::from_std(service)?, Keepalive(task.abort_handle())))
}

async fn end_when_silent<G>(
    service: StdStream,
    [mut there, mut back]: [watch::Receiver<G>; 2],
    is_closed: fn(&G) -> bool,
    after: Duration,
) {
    // Senders live as long as the proxy does.
    loop {
        let (mut one, mut other) = (there.clone(), back.clone());
        let _ = tokio::select! {
            blocked = one.wait_for(is_closed) => blocked.map(drop),
            blocked = other.wait_for(is_closed) => blocked.map(drop),
        };
        let open = async {
            while is_closed(&there.borrow_and_update()) || is_closed(&back.borrow_and_update()) {
                let _ = tokio::select! {
                    changed = there.changed() => changed,
                    changed = back.changed() => changed,
                };
            }
        };
        if tokio::time::timeout(after, open).await.is_err() {
            // The connection may have ended meanwhile.
            let _ = service.shutdown(Shutdown::Both);
            return;
        }
    }
}
