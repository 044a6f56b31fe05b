//! How services are reached.

use protocols_clients::{
    env::tokio::{EnvSettings, TokioEnv, Wrap},
    site::Endpoint,
};
use std::sync::Arc;

/// A world seen by nobody else. The operating system's randomness seeds it, by the keys of a hash map.
pub(crate) fn fresh_env() -> TokioEnv {
    env_with(None)
}

/// The same, with something around each of its connections.
fn env_with(wrap: Option<Arc<dyn Wrap>>) -> TokioEnv {
    TokioEnv::with(EnvSettings { wrap, ..seeded() })
}

pub(super) fn seeded() -> EnvSettings {
    use std::hash::{BuildHasher, RandomState};
    EnvSettings { seed: RandomState::new().hash_one(std::process::id()), ..EnvSettings::default() }
}

/// How a service is spoken to by TLS.
#[cfg(feature = "tls")]
#[derive(Clone, Copy)]
pub(crate) struct Handshake {
    /// The application protocol that is offered; none if empty.
    pub(crate) alpn: &'static [u8],
    /// Whether the server must be asked for TLS first.
    pub(crate) asks: bool,
}

/// A world of which each connection is encrypted.
#[cfg(feature = "tls")]
pub(crate) fn secure_env(tls: &tokio_rustls::rustls::ClientConfig, handshake: Handshake) -> TokioEnv {
    let mut tls = tls.clone();
    tls.alpn_protocols = if handshake.alpn.is_empty() { Vec::new() } else { vec![handshake.alpn.to_vec()] };
    let connector = tokio_rustls::TlsConnector::from(Arc::new(tls));
    env_with(Some(Arc::new(protocols_clients::tls::Secure { connector, name: None, asks: handshake.asks })))
}

/// An address as errors print it: without what may be a password.
pub(crate) fn without_password(address: &str) -> String {
    match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        (_, None) if !address.contains("pass") => address.to_owned(),
        _ => "the address".to_owned(),
    }
}

/// Reads `host:port`; a port is not needed.
pub(crate) fn endpoint(address: &str, port: u16) -> Option<Endpoint> {
    let (host, port) = match address.rsplit_once(':') {
        // An IPv6 address has its port behind the bracket.
        Some((host, number)) if !number.ends_with(']') => (host, number.parse().ok()?),
        _ => (address, port),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty() && !host.contains(['/', '@', ' '])).then(|| Endpoint { host: host.to_owned(), port })
}
