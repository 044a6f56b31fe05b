//! What may be between TCP and its user.

use crate::site::Endpoint;
use std::{future::Future, io, pin::Pin};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

/// A byte stream of any kind: plain TCP, or TLS over it.
pub trait Io: AsyncRead + AsyncWrite + Send + Sync + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Io for T {}

pub type Stream = Box<dyn Io>;

pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A layer between TCP and its user, such as TLS.
pub trait Wrap: Send + Sync {
    /// Wraps a connection to `to`.
    ///
    /// # Errors
    /// A failed handshake.
    fn wrap<'a>(&'a self, stream: TcpStream, to: &'a Endpoint) -> Boxed<'a, io::Result<Stream>>;
}

/// A layer between TCP and a server, such as TLS.
pub trait Accept: Send + Sync {
    /// Wraps a connection that was accepted.
    ///
    /// # Errors
    /// A failed handshake.
    fn accept(&self, stream: TcpStream) -> Boxed<'_, io::Result<Stream>>;
}
