//! TLS by rustls, on every connection to a server, or to a peer.

use crate::{
    env::tokio::{Accept, Boxed, Stream, Wrap},
    site::Endpoint,
};
use std::io;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsAcceptor, TlsConnector, rustls::pki_types::ServerName};

/// Does a TLS handshake on every connection, and checks the server's certificate against `name`.
pub struct Secure {
    pub connector: TlsConnector,
    /// The server's name; by default the endpoint's host.
    pub name: Option<String>,
    /// Whether the server must be asked for TLS first, as PostgreSQL must.
    pub asks: bool,
}

/// PostgreSQL's `SSLRequest`: its length, and a version that no server has.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

impl Wrap for Secure {
    fn wrap<'a>(&'a self, stream: TcpStream, to: &'a Endpoint) -> Boxed<'a, io::Result<Stream>> {
        Box::pin(async move {
            // Otherwise a node with wrong certificates would stay a candidate without saying why.
            let complain = |e: &io::Error| tracing::warn!("no TLS with {}:{}: {e}", to.host, to.port);
            self.connected(stream, to).await.inspect_err(complain)
        })
    }
}

impl Secure {
    async fn connected(&self, mut stream: TcpStream, to: &Endpoint) -> io::Result<Stream> {
        let name = self.name.as_ref().unwrap_or(&to.host).clone();
        let name = ServerName::try_from(name).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        if self.asks {
            stream.write_all(&SSL_REQUEST).await?;
            // What follows an `S` is the server's side of the handshake; it sends nothing before ours.
            if stream.read_u8().await? != b'S' {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "the server has no TLS"));
            }
        }
        Ok(Box::new(self.connector.connect(name, stream).await?))
    }
}

/// Accepts only who shows a certificate; which ones are trusted, the acceptor says.
pub struct Mutual(pub TlsAcceptor);

impl Accept for Mutual {
    fn accept(&self, stream: TcpStream) -> Boxed<'_, io::Result<Stream>> {
        Box::pin(async move {
            let from = stream.peer_addr()?;
            let complain = |e: &io::Error| tracing::warn!("no TLS with {from}, who has connected: {e}");
            self.accepted(stream).await.inspect_err(complain)
        })
    }
}

impl Mutual {
    async fn accepted(&self, stream: TcpStream) -> io::Result<Stream> {
        let stream = self.0.accept(stream).await?;
        if stream.get_ref().1.peer_certificates().is_none() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it has shown no certificate"));
        }
        Ok(Box::new(stream))
    }
}
