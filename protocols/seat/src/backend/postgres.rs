use super::{AddressError, Backend, Deliver, Running, Service, fresh_env, without_password};
use crate::lead::Fenced;
use protocols::{
    election::{Protocol, db_row},
    elector::ServiceOutput,
    service::postgres::{Keepalive, SERVICE},
    types::SECOND,
};
use protocols_clients::{
    env::tokio::TokioEnv,
    postgres::{self, Options},
    site::Endpoint,
};
use std::fmt;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};

/// PostgreSQL: a row with an expiry by the database's clock, in the table `fencepost_lock`, which is created if it does
/// not exist; its token is counted in the row. A waiting member polls.
#[derive(Clone)]
pub struct Postgres {
    env: TokioEnv,
    connection: postgres::Postgres<TokioEnv>,
    at: Endpoint,
}

const FORM: &str = "postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE";

impl Postgres {
    /// PostgreSQL at `postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE`. Dials when there is something to ask.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn connect(address: &str) -> Result<Self, AddressError> {
        let login: Config = address.parse().map_err(|_| AddressError::Wrong(without_password(address), FORM))?;
        let wrong = || AddressError::Wrong(without_password(address), FORM);
        if login.get_ssl_mode() == SslMode::Require {
            return Err(AddressError::Tls(without_password(address)));
        }
        let [Host::Tcp(host)] = login.get_hosts() else { return Err(wrong()) };
        let at = Endpoint { host: host.clone(), port: login.get_ports().first().copied().unwrap_or(5432) };
        let keepalive = Some(Keepalive::within(15 * SECOND));
        let options = Options { login, service: &SERVICE, keepalive, pooled: false, keeps_dropped: false };
        let env = fresh_env();
        let connection = postgres::Postgres::new(env.clone(), at.clone(), options);
        Ok(Postgres { env, connection, at })
    }
}

impl Backend for Postgres {
    type Fencing = Fenced;
}

impl Service for Postgres {
    fn protocol(&self) -> &'static Protocol {
        &db_row::PROTOCOL
    }

    fn env(&self) -> &TokioEnv {
        &self.env
    }

    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
        let connection = self.connection.clone();
        Box::pin(async move { connection.run(outputs, move |input| deliver(input)).await })
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Postgres").field(&self.at).finish()
    }
}
