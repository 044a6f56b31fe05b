use super::{AddressError, Backend, Deliver, Running, Service, endpoint, fresh_env, without_password};
use crate::lead::Fenced;
use protocols::{
    election::{Protocol, etcd::from_sending},
    elector::ServiceOutput,
};
use protocols_clients::{env::tokio::TokioEnv, etcd::Connection, site::Endpoint};
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
        let read = |address: S| {
            let address = address.as_ref();
            if address.starts_with("https://") {
                return Err(AddressError::Tls(without_password(address)));
            }
            let bare = address.strip_prefix("http://").unwrap_or(address).trim_end_matches('/');
            endpoint(bare, 2379).ok_or_else(|| AddressError::Wrong(without_password(address), FORM))
        };
        let endpoints: Vec<Endpoint> = addresses.into_iter().map(read).collect::<Result<_, _>>()?;
        if endpoints.is_empty() {
            return Err(AddressError::None);
        }
        let env = fresh_env();
        let connection = Connection::new(env.clone(), endpoints.clone());
        Ok(Etcd { env, connection, at: Arc::new(endpoints) })
    }
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
