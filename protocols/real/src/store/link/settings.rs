//! How a node reaches the store.

use crate::{directory::Directory, store::token::TokenKey};
use protocols_clients::site::Endpoint;
use rustls_pki_types::ServerName;
use std::{sync::Arc, time::Duration};
use tokio_rustls::TlsConnector;

/// How a node reaches the store.
#[derive(Clone)]
pub struct LinkSettings {
    /// Where the store listens.
    pub store: Endpoint,
    /// The node's own name, which its token is bound to.
    pub node: String,
    /// Names of processes and clients; shared with the node's other links.
    pub directory: Arc<Directory>,
    /// Vouches for tokens; without it the store must run insecure.
    pub key: Option<TokenKey>,
    /// TLS, and the name that the store's certificate must have.
    pub tls: Option<(TlsConnector, ServerName<'static>)>,
    /// A connection that is not up after this long is given up.
    pub connect: Duration,
    /// A connection on which something is outstanding and nothing came for this long is given up: a partition is silence.
    pub silence: Duration,
    /// When nothing was sent for this long, the state is asked for, so that a dead connection is found before it is needed.
    pub probe: Duration,
}

impl LinkSettings {
    /// The usual times: 1 s to connect, 2 s of silence, a probe every 10 s.
    pub fn new(store: Endpoint, node: String, directory: Arc<Directory>, key: Option<TokenKey>) -> Self {
        let (connect, silence, probe) = (Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(10));
        LinkSettings { store, node, directory, key, tls: None, connect, silence, probe }
    }
}
