//! What two kernels find out about a connection that a proxy lies in: it has no more signs of life from the other side.
//!
//! Each kernel sees the proxy's, which answers its probes whatever the proxy holds back. Where a service keeps what a client
//! has until the kernel gives the client's connection up, a partition would never end anything. So the proxy gives it up.

use crate::proxy::Gate;
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

/// Ends the connection to the service, for the service, when a direction was blocked for so long at a stretch: the last sign
/// of life was up to one interval between probes before. The client hears of it when its own direction is open again.
///
/// # Errors
/// The connection cannot be had twice.
pub(crate) fn watch(
    service: TcpStream,
    gates: [watch::Receiver<Gate>; 2],
    gives_up_after: Duration,
) -> io::Result<(TcpStream, Keepalive)> {
    let service = service.into_std()?;
    let ended = service.try_clone()?;
    let task = tokio::spawn(end_when_silent(ended, gates, gives_up_after));
    Ok((TcpStream::from_std(service)?, Keepalive(task.abort_handle())))
}

async fn end_when_silent(service: StdStream, [mut there, mut back]: [watch::Receiver<Gate>; 2], after: Duration) {
    // Senders live as long as the proxy does.
    loop {
        let (mut one, mut other) = (there.clone(), back.clone());
        let _ = tokio::select! {
            blocked = one.wait_for(|gate| gate.blocked > 0) => blocked.map(drop),
            blocked = other.wait_for(|gate| gate.blocked > 0) => blocked.map(drop),
        };
        let open = async {
            while there.borrow_and_update().blocked > 0 || back.borrow_and_update().blocked > 0 {
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

#[cfg(test)]
mod tests {
    use crate::proxy::{Line, Proxy};
    use std::time::Duration;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
        time::timeout,
    };

    const SOON: Duration = Duration::from_millis(500);

    #[tokio::test]
    async fn the_service_gives_a_silent_client_up_and_the_client_hears_of_it_later() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let after = Duration::from_millis(300);
        let proxy = Proxy::start(address, Line::default(), Some(after)).await.expect("a port");
        let mut client = TcpStream::connect(proxy.address).await.expect("the proxy listens");
        let (mut service, _) = listener.accept().await.expect("a connection");
        let (mut byte, mut more) = ([0; 1], Vec::new());
        let block = |on: i32| {
            for direction in [&proxy.forward, &proxy.backward] {
                direction.send_modify(|gate| gate.blocked = gate.blocked.wrapping_add_signed(on));
            }
        };

        // A short silence is none.
        block(1);
        tokio::time::sleep(after / 2).await;
        block(-1);
        tokio::time::sleep(after).await;
        client.write_all(b"x").await.expect("writable");
        service.read_exact(&mut byte).await.expect("it lives");

        // A long one ends it for the service, but not for the client.
        block(1);
        assert_eq!(timeout(SOON, service.read_to_end(&mut more)).await.expect("it ends").expect("in order"), 0);
        assert!(timeout(SOON, client.read(&mut byte)).await.is_err(), "the client knows nothing");
        block(-1);
        let told = timeout(SOON, client.read(&mut byte)).await.expect("the client is told");
        assert!(matches!(told, Ok(0) | Err(_)), "{told:?}");
    }
}
