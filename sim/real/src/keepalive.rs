//! What two kernels find out about a connection that a proxy lies in: it has no more signs of life from the other side.
//!
//! Each kernel sees the proxy's, which answers its probes whatever the proxy holds back. Where a service keeps what a client
//! has until the kernel gives the client's connection up, a partition would never end anything. So the proxy gives it up.

use std::{
    io,
    net::{Shutdown, TcpStream as StdStream},
    time::Duration,
};
use tokio::{net::TcpStream, sync::watch, task::AbortHandle};

/// Watches over a connection; ends with this.
pub(crate) struct Keepalive(AbortHandle);

impl Drop for Keepalive {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Ends the connection to the service, for the service, when a gate was closed for so long at a stretch: the last sign
/// of life was up to one interval between probes before. The client hears of it when its own direction is open again.
///
/// # Errors
/// The connection cannot be had twice.
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
            // It may have ended meanwhile.
            let _ = service.shutdown(Shutdown::Both);
            return;
        }
    }
}
