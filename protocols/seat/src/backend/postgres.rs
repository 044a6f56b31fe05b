use super::{
    AddressError, Backend, Deliver, Running, Service,
    reach::{fresh_env, without_password},
};
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

/// A server, and who logs in to it.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) env: TokioEnv,
    pub(super) login: Config,
    pub(super) at: Endpoint,
}

const FORM: &str = "postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE";

impl Postgres {
    /// PostgreSQL at `postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE`. Dials when there is something to ask.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn connect(address: &str) -> Result<Self, AddressError> {
        Server::plain(address).map(Postgres::on)
    }

    /// The same by TLS, whatever the address's `sslmode` says. The server's certificate must be of this host; `tls`
    /// says whose signature it needs, and has the client's own certificate if PostgreSQL asks for one.
    ///
    /// # Errors
    /// An address that cannot be used.
    #[cfg(feature = "tls")]
    pub fn connect_tls(address: &str, tls: &tokio_rustls::rustls::ClientConfig) -> Result<Self, AddressError> {
        Server::encrypted(address, tls).map(Postgres::on)
    }

    fn on(Server { env, login, at }: Server) -> Self {
        let keepalive = Some(Keepalive::within(15 * SECOND));
        let options = Options { login, service: &SERVICE, keepalive, pooled: false, keeps_dropped: false };
        let connection = postgres::Postgres::new(env.clone(), at.clone(), options);
        Postgres { env, connection, at }
    }
}

impl Server {
    pub(super) fn plain(address: &str) -> Result<Self, AddressError> {
        let login = read(address)?;
        match login.get_ssl_mode() {
            SslMode::Require => Err(AddressError::Tls(without_password(address))),
            _ => Server::with(fresh_env(), login, address),
        }
    }

    #[cfg(feature = "tls")]
    pub(super) fn encrypted(address: &str, tls: &tokio_rustls::rustls::ClientConfig) -> Result<Self, AddressError> {
        use tokio_postgres::config::SslNegotiation;
        let mut login = read(address)?;
        let handshake = match login.get_ssl_negotiation() {
            SslNegotiation::Direct => super::reach::Handshake { alpn: b"postgresql", asks: false },
            _ => super::reach::Handshake { alpn: b"", asks: true },
        };
        // The connection that it gets is encrypted already.
        login.ssl_mode(SslMode::Disable).ssl_negotiation(SslNegotiation::Postgres);
        Server::with(super::reach::secure_env(tls, handshake), login, address)
    }

    fn with(env: TokioEnv, login: Config, address: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError::Wrong(without_password(address), FORM);
        let [Host::Tcp(host)] = login.get_hosts() else { return Err(wrong()) };
        let at = Endpoint { host: host.clone(), port: login.get_ports().first().copied().unwrap_or(5432) };
        Ok(Server { env, login, at })
    }
}

fn read(address: &str) -> Result<Config, AddressError> {
    address.parse().map_err(|_| AddressError::Wrong(without_password(address), FORM))
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
