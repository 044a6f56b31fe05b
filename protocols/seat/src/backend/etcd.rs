use super::{
    AddressError, Backend, Deliver, Running, Service,
    reach::{endpoint, fresh_env, without_password},
};
use crate::lead::Fenced;
use protocols::{
    election::{Protocol, etcd::from_sending},
    elector::ServiceOutput,
};
use protocols_clients::{
    env::tokio::TokioEnv,
    etcd::Connection,
    site::{Endpoint, Login},
};
use std::{fmt, sync::Arc};
use tokio::sync::mpsc::UnboundedReceiver;

/// etcd: a queue of keys with leases, as in its own client library. A waiting member watches the key before its own
/// and the leader's, and keeps its lease alive; the token is the create revision of the leader's key.
#[derive(Clone)]
pub struct Etcd {
    env: TokioEnv,
    connection: Connection<TokioEnv>,
    at: Arc<Vec<Endpoint>>,
}

const FORM: &str = "http://HOST:PORT";

impl Etcd {
    /// etcd at these addresses, `http://HOST:PORT` each: the members of a cluster. Dials when there is something to
    /// ask.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn connect<S: AsRef<str>>(addresses: impl IntoIterator<Item = S>) -> Result<Self, AddressError> {
        let read = |address: &str| match address.starts_with("https://") {
            true => Err(AddressError::Tls(without_password(address))),
            false => at(address, address.strip_prefix("http://").unwrap_or(address), FORM),
        };
        Ok(Etcd::with(fresh_env(), all(addresses, read)?))
    }

    /// The same by TLS, at `https://HOST:PORT`. The servers' certificates must be of these hosts; `tls` says whose
    /// signature they need, and has the client's own certificate if etcd asks for one.
    ///
    /// # Errors
    /// An address that cannot be used.
    #[cfg(feature = "tls")]
    pub fn connect_tls<S: AsRef<str>>(
        addresses: impl IntoIterator<Item = S>,
        tls: &tokio_rustls::rustls::ClientConfig,
    ) -> Result<Self, AddressError> {
        const FORM: &str = "https://HOST:PORT";
        let read = |address: &str| match address.strip_prefix("https://") {
            Some(bare) => at(address, bare, FORM),
            None => Err(AddressError::Wrong(without_password(address), FORM)),
        };
        // gRPC wants HTTP/2 to be negotiated.
        let handshake = super::reach::Handshake { alpn: b"h2", asks: false };
        Ok(Etcd::with(super::reach::secure_env(tls, handshake), all(addresses, read)?))
    }

    /// The same as a user of etcd's, where it asks for one. The user has to read and write what begins with
    /// `fencepost/SEAT/`. Without TLS, the password goes over the network as it is.
    #[must_use]
    pub fn login(self, user: impl Into<String>, password: impl Into<String>) -> Self {
        let login = Login { user: user.into(), password: password.into() };
        Etcd { connection: self.connection.with_login(login), ..self }
    }

    fn with(env: TokioEnv, endpoints: Vec<Endpoint>) -> Self {
        let connection = Connection::new(env.clone(), endpoints.clone()).restless();
        Etcd { env, connection, at: Arc::new(endpoints) }
    }
}

fn all<S: AsRef<str>>(
    addresses: impl IntoIterator<Item = S>,
    read: impl Fn(&str) -> Result<Endpoint, AddressError>,
) -> Result<Vec<Endpoint>, AddressError> {
    let endpoints: Vec<Endpoint> =
        addresses.into_iter().map(|address| read(address.as_ref())).collect::<Result<_, _>>()?;
    match endpoints.is_empty() {
        true => Err(AddressError::None),
        false => Ok(endpoints),
    }
}

fn at(address: &str, bare: &str, form: &'static str) -> Result<Endpoint, AddressError> {
    let wrong = || AddressError::Wrong(without_password(address), form);
    endpoint(bare.trim_end_matches('/'), 2379).ok_or_else(wrong)
}

impl Backend for Etcd {
    type Fencing = Fenced;
}

impl Service for Etcd {
    fn protocol(&self) -> &'static Protocol {
        &from_sending::PROTOCOL
    }

    fn env(&self) -> &TokioEnv {
        &self.env
    }

    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
        let connection = self.connection.clone();
        Box::pin(async move { connection.run(outputs, move |input| deliver(input)).await })
    }
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Etcd").field(&self.at).finish()
    }
}
