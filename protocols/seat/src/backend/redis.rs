use super::{
    AddressError, Backend, Deliver, Running, Service,
    reach::{endpoint, fresh_env, without_password},
};
use crate::lead::Fenced;
use protocols::{
    election::{Protocol, redis_fenced},
    elector::ServiceOutput,
};
use protocols_clients::{
    env::tokio::TokioEnv,
    redis::{self, Redis as Connection},
};
use std::fmt;
use tokio::sync::mpsc::UnboundedReceiver;

/// Redis: a key with a TTL, and a counter of tokens that is drawn in the script that takes the key.
///
/// A waiting member polls, since a key's end is not told reliably. Redis forgets what it has not saved, or not copied
/// yet: after a restart without `appendonly yes` and `appendfsync always`, or a failover to a replica, it may give out
/// tokens again. A fenced resource then refuses leaders until the counter has caught up. Its wall clock times the key.
#[derive(Clone)]
pub struct Redis {
    env: TokioEnv,
    pub(super) connection: Connection<TokioEnv>,
    /// Without the login.
    pub(super) address: String,
}

const FORM: &str = "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]";

impl Redis {
    /// Redis at `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`. Dials when there is something to ask.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn connect(address: &str) -> Result<Self, AddressError> {
        Redis::plain(fresh_env(), address)
    }

    /// The same by TLS, at `rediss://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`. The server's certificate must be of this
    /// host; `tls` says whose signature it needs, and has the client's own certificate if Redis asks for one.
    ///
    /// # Errors
    /// An address that cannot be used.
    #[cfg(feature = "tls")]
    pub fn connect_tls(address: &str, tls: &tokio_rustls::rustls::ClientConfig) -> Result<Self, AddressError> {
        Redis::encrypted(super::reach::secure_env(tls, super::reach::Handshake { alpn: b"", asks: false }), address)
    }

    pub(super) fn plain(env: TokioEnv, address: &str) -> Result<Self, AddressError> {
        match address.starts_with("rediss://") {
            true => Err(AddressError::Tls(without_password(address))),
            false => Redis::with(env, address, address, FORM),
        }
    }

    /// In a world whose connections are encrypted.
    #[cfg(feature = "tls")]
    pub(super) fn encrypted(env: TokioEnv, address: &str) -> Result<Self, AddressError> {
        const FORM: &str = "rediss://[USER:PASSWORD@]HOST[:PORT][/DATABASE]";
        match address.strip_prefix("rediss://") {
            Some(bare) => Redis::with(env, &format!("redis://{bare}"), address, FORM),
            None => Err(AddressError::Wrong(without_password(address), FORM)),
        }
    }

    fn with(env: TokioEnv, plain: &str, address: &str, form: &'static str) -> Result<Self, AddressError> {
        use ::redis::{ConnectionAddr, IntoConnectionInfo};
        let wrong = || AddressError::Wrong(without_password(address), form);
        let info = plain.into_connection_info().map_err(|_| wrong())?;
        let ConnectionAddr::Tcp(host, port) = info.addr() else { return Err(wrong()) };
        let at = format!("{host}:{port}");
        let endpoint = endpoint(&at, *port).ok_or_else(wrong)?;
        let connection = redis::Redis::new(env.clone(), endpoint, info.redis_settings().clone());
        Ok(Redis { env, connection, address: at })
    }
}

impl Backend for Redis {
    type Fencing = Fenced;
}

impl Service for Redis {
    fn protocol(&self) -> &'static Protocol {
        &redis_fenced::PROTOCOL
    }

    fn env(&self) -> &TokioEnv {
        &self.env
    }

    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
        let connection = self.connection.clone();
        Box::pin(async move { connection.run(outputs, move |input| deliver(input)).await })
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Redis").field(&self.address).finish()
    }
}
