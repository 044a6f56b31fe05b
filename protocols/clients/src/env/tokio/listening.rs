//! Connections that are accepted, and the handshakes that some of them begin with.

use super::layers::{Accept, Stream};
use crate::env::world::Listener;
use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

/// Handshakes at the same time. Whoever comes later waits to be accepted.
const HANDSHAKES: usize = 64;
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long nothing is accepted when the process has no descriptors left, for example.
const RECOVERY: Duration = Duration::from_millis(100);

pub struct Listening {
    listener: TcpListener,
    accept: Option<Arc<dyn Accept>>,
    /// They end with this.
    handshakes: JoinSet<Option<Stream>>,
}

impl Listening {
    pub(super) fn new(listener: TcpListener, accept: Option<Arc<dyn Accept>>) -> Self {
        Listening { listener, accept, handshakes: JoinSet::new() }
    }

    /// The listener's address.
    ///
    /// # Errors
    /// The system cannot tell it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Listening").field(&self.listener).finish()
    }
}

impl Listener for Listening {
    type Stream = Stream;
    async fn accept(&mut self) -> io::Result<Stream> {
        loop {
            let Listening { listener, accept, handshakes } = self;
            tokio::select! {
                biased;
                // One that has failed, or panicked, is over.
                done = handshakes.join_next(), if !handshakes.is_empty() => if let Some(Ok(Some(stream))) = done {
                    return Ok(stream);
                },
                stream = accepted(listener), if handshakes.len() < HANDSHAKES => match accept.clone() {
                    None => return Ok(Box::new(stream)),
                    Some(accept) => drop(handshakes.spawn(async move {
                        timeout(HANDSHAKE, accept.accept(stream)).await.ok()?.ok()
                    })),
                },
            }
        }
    }
}

/// The next connection. One that breaks at once, or cannot be had for a while, is no end of the others.
async fn accepted(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) if stream.set_nodelay(true).is_ok() => return stream,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => sleep(RECOVERY).await,
        }
    }
}
