//! How a node reaches the store.

use crate::{directory::Directory, store::token::TokenKey};
use protocols_clients::site::Endpoint;
use rustls_pki_types::ServerName;
use std::{sync::Arc, time::Duration};
use tokio_rustls::TlsConnector;

#[derive(Clone)]
pub struct LinkSettings {
    /// Where the store listens.
    pub store: Endpoint,
    /// The node's own name, to which its requests are bound.
    pub node: String,
    /// Names of processes and clients; shared with the node's other links.
    pub directory: Arc<Directory>,
    /// Signs requests; without it the store must run insecure.
    pub key: Option<TokenKey>,
    /// TLS, and the name that the store's certificate must have.
    pub tls: Option<(TlsConnector, ServerName<'static>)>,
    /// The timeout of connecting.
    pub connect: Duration,
    /// A connection with a request outstanding is given up after this long without input: a partition is silence.
    pub silence: Duration,
    /// After this long without sending, the link asks for a state, to detect a dead connection before it is needed.
    pub probe: Duration,
}

impl LinkSettings {
    /// The default times: 1 s to connect, 2 s of silence, a probe every 10 s.
    pub fn new(store: Endpoint, node: String, directory: Arc<Directory>, key: Option<TokenKey>) -> Self {
        let (connect, silence, probe) = (Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(10));
        LinkSettings { store, node, directory, key, tls: None, connect, silence, probe }
    }
}
