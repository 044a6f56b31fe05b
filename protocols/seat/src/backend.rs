//! The services that a seat can stand on.

#[cfg(feature = "etcd")]
pub(crate) mod etcd;
#[cfg(feature = "kubernetes")]
pub(crate) mod kubernetes;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "redis")]
pub(crate) mod redis;

use crate::lead::Fencing;
use protocols::{
    election::Protocol,
    elector::{ServiceInput, ServiceOutput},
    payload::Opaque,
};
use protocols_clients::env::tokio::TokioEnv;
#[cfg(any(feature = "etcd", feature = "redis", feature = "postgres", feature = "kubernetes"))]
use protocols_clients::env::tokio::{EnvSettings, Wrap};
#[cfg(any(feature = "etcd", feature = "redis"))]
use protocols_clients::site::Endpoint;
use std::{future::Future, pin::Pin, sync::Arc};
use tokio::sync::mpsc::UnboundedReceiver;

/// How a lease is counted where the core's own belief has no end.
#[derive(Clone, Copy)]
pub struct Counted {
    /// Whether this reply to this request means that the lease has begun, or was renewed, when the request arrived.
    pub(crate) confirms: fn(&Opaque, &Opaque) -> bool,
    /// How much sooner others may take it than a lease's length after that, nanoseconds.
    pub(crate) unseen: u64,
}

/// A coordination service. Clones are the same service, for several seats.
pub trait Backend: Clone + Send + Sync + 'static + Service {
    /// Whether its leaderships have tokens.
    type Fencing: Fencing;
}

pub(crate) type Running = Pin<Box<dyn Future<Output = ()> + Send>>;
pub(crate) type Deliver = Arc<dyn Fn(ServiceInput) + Send + Sync>;

/// What the crate itself needs of a service; nobody else can implement it.
#[doc(hidden)]
pub trait Service {
    fn protocol(&self) -> &'static Protocol;
    fn env(&self) -> &TokioEnv;
    /// `None` if the core's own belief ends.
    fn counted(&self) -> Option<Counted> {
        None
    }
    /// Carries out an elector's requests until the channel closes.
    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running;
}

/// An address that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    #[error("an address is needed")]
    None,
    #[error("`{0}` is no address of this service: use `{1}`")]
    Wrong(String, &'static str),
    #[error("`{0}` asks for TLS: use `connect_tls`, of the feature `tls`")]
    Tls(String),
}

/// A world seen by nobody else. The operating system's randomness seeds it, by the keys of a hash map.
#[cfg(any(feature = "etcd", feature = "redis", feature = "postgres", feature = "kubernetes"))]
pub(crate) fn fresh_env() -> TokioEnv {
    env_with(None)
}

/// The same, with something around each of its connections.
#[cfg(any(feature = "etcd", feature = "redis", feature = "postgres", feature = "kubernetes"))]
fn env_with(wrap: Option<Arc<dyn Wrap>>) -> TokioEnv {
    use std::hash::{BuildHasher, RandomState};
    let seed = RandomState::new().hash_one(std::process::id());
    TokioEnv::with(EnvSettings { seed, wrap, ..EnvSettings::default() })
}

/// How a service is spoken to by TLS.
#[cfg(all(feature = "tls", any(feature = "etcd", feature = "redis", feature = "postgres")))]
#[derive(Clone, Copy)]
pub(crate) struct Handshake {
    /// The application protocol that is offered; none if empty.
    pub(crate) alpn: &'static [u8],
    /// Whether the server must be asked for TLS first.
    pub(crate) asks: bool,
}

/// A world of which each connection is encrypted.
#[cfg(all(feature = "tls", any(feature = "etcd", feature = "redis", feature = "postgres")))]
pub(crate) fn secure_env(tls: &tokio_rustls::rustls::ClientConfig, handshake: Handshake) -> TokioEnv {
    let mut tls = tls.clone();
    tls.alpn_protocols = if handshake.alpn.is_empty() { Vec::new() } else { vec![handshake.alpn.to_vec()] };
    let connector = tokio_rustls::TlsConnector::from(Arc::new(tls));
    env_with(Some(Arc::new(protocols_clients::tls::Secure { connector, name: None, asks: handshake.asks })))
}

/// An address as errors print it: without what may be a password.
#[cfg(any(feature = "etcd", feature = "redis", feature = "postgres"))]
pub(crate) fn without_password(address: &str) -> String {
    match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        (_, None) if !address.contains("pass") => address.to_owned(),
        _ => "the address".to_owned(),
    }
}

/// Reads `host:port`; a port is not needed.
#[cfg(any(feature = "etcd", feature = "redis"))]
pub(crate) fn endpoint(address: &str, port: u16) -> Option<Endpoint> {
    let (host, port) = match address.rsplit_once(':') {
        // An IPv6 address has its port behind the bracket.
        Some((host, number)) if !number.ends_with(']') => (host, number.parse().ok()?),
        _ => (address, port),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty() && !host.contains(['/', '@', ' '])).then(|| Endpoint { host: host.to_owned(), port })
}
