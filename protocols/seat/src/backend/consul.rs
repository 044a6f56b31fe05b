use super::{
    AddressError, Backend, Deliver, Running, Service,
    reach::{endpoint, fresh_env, without_password},
};
use crate::lead::Fenced;
use protocols::{
    election::{Protocol, consul::from_sending},
    elector::ServiceOutput,
};
use protocols_clients::{
    consul::{Connections, run_on},
    env::tokio::TokioEnv,
    site::Endpoint,
};
use std::{fmt, sync::Arc};
use tokio::sync::mpsc::UnboundedReceiver;

/// Consul: a key that a session holds, as Consul's own client takes a lock: `consul lock fencepost/SEAT …` stands for
/// the same one. A waiting member watches the key.
///
/// A session lasts *at least* its TTL, which Consul limits to 10 s and more; in fact up to twice as long. It is ended
/// sooner when gossip takes its agent for dead, or when an operator destroys it. So the key's lock-delay is as long as
/// the TTL, and [`Settings::ttl`](crate::Settings::ttl) at most 60 s, since no lock-delay is longer: however a session
/// ends, nobody else has the key before its holder has stopped believing. A member that has crashed is followed after
/// up to three TTLs; one that has resigned, at once.
///
/// The token is the key's ModifyIndex, an index of Consul's log, read once the key is held. (LockIndex, which Consul's
/// documentation has resources compare, starts again when the key is deleted or written.) It starts again if Consul's
/// data is lost. A snapshot restored into a new cluster takes it back to the time of the snapshot, and fenced resources
/// refuse leaders until it has caught up.
///
/// Whoever deletes the key, instead of destroying the session, lets the next member in at once, beside a leader whom
/// its watch has not told yet; only the fence keeps that one out. Whoever writes the key changes nothing: its flags
/// may be lost, and it is still the seat's.
///
/// Clones have 64 connections in all, however many seats there are; an agent lets one address have 200 unless
/// `http_max_conns_per_client` says otherwise. Forty seats watch their keys by blocking queries, each on a connection of
/// its own; the others read theirs every two seconds, and so learn of a release, or a deletion, up to two seconds later.
#[derive(Clone)]
pub struct Consul {
    env: TokioEnv,
    agent: Endpoint,
    connections: Connections<TokioEnv>,
    token: Option<Arc<str>>,
}

const FORM: &str = "http://HOST:PORT";

impl Consul {
    /// Consul's agent at `http://HOST:PORT`: the one on this machine, since sessions end with their agent. Dials when
    /// there is something to ask.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn connect(address: &str) -> Result<Self, AddressError> {
        if address.is_empty() {
            return Err(AddressError::None);
        }
        if address.starts_with("https://") {
            return Err(AddressError::Tls(shown(address)));
        }
        let agent = at(address.strip_prefix("http://").unwrap_or(address), 8500);
        let agent = agent.ok_or_else(|| AddressError::Wrong(shown(address), FORM))?;
        Ok(Consul::with(fresh_env(), agent))
    }

    /// The same by TLS, at `https://HOST:PORT`. The agent's certificate must be of this host; `tls` says whose
    /// signature it needs, and has the client's own certificate if Consul asks for one.
    ///
    /// # Errors
    /// An address that cannot be used.
    #[cfg(feature = "tls")]
    pub fn connect_tls(address: &str, tls: &tokio_rustls::rustls::ClientConfig) -> Result<Self, AddressError> {
        let agent = address.strip_prefix("https://").and_then(|bare| at(bare, 8501));
        let agent = agent.ok_or_else(|| AddressError::Wrong(shown(address), "https://HOST:PORT"))?;
        let env = super::reach::secure_env(tls, super::reach::Handshake { alpn: b"", asks: false });
        Ok(Consul::with(env, agent))
    }

    /// The ACL token to ask with, which needs `session:write` on the agent's node, and `key:write` on
    /// `fencepost/SEAT/.lock`. By default requests have the agent's own.
    ///
    /// # Errors
    /// The token cannot be sent.
    pub fn token(self, token: &str) -> Result<Self, AddressError> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(AddressError::Token);
        }
        Ok(Consul { token: Some(token.into()), ..self })
    }

    fn with(env: TokioEnv, agent: Endpoint) -> Self {
        let connections = Connections::new(env.clone(), agent.clone());
        Consul { env, agent, connections, token: None }
    }
}

fn at(bare: &str, port: u16) -> Option<Endpoint> {
    endpoint(bare.trim_end_matches('/'), port).filter(|agent| !agent.host.contains(['?', '#', ',']))
}

/// The address without what may be a token.
fn shown(address: &str) -> String {
    without_password(address.split(['?', '#']).next().unwrap_or_default())
}

impl Backend for Consul {
    type Fencing = Fenced;
}

impl Service for Consul {
    fn protocol(&self) -> &'static Protocol {
        &from_sending::PROTOCOL
    }

    fn env(&self) -> &TokioEnv {
        &self.env
    }

    fn granted(&self, ttl: u64) -> u64 {
        // The least that a session lasts, and not what it lasts in fact.
        from_sending::session_ttl(ttl)
    }

    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
        let (env, connections, token) = (self.env.clone(), self.connections.clone(), self.token.clone());
        Box::pin(async move { run_on(env, connections, token, outputs, move |input| deliver(input)).await })
    }
}

impl fmt::Debug for Consul {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Consul").field(&self.agent).finish()
    }
}
