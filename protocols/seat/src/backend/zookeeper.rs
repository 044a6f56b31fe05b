use super::{
    AddressError, Backend, Deliver, Running, Service, Session, lease,
    reach::{endpoint, fresh_env, without_password},
};
use crate::lead::Fenced;
use protocols::{
    election::{Protocol, zk_election::from_sending},
    elector::ServiceOutput,
    types::MILLISECOND,
};
use protocols_clients::{
    env::tokio::TokioEnv,
    site::{Endpoint, Login},
    zookeeper,
};
use std::{fmt, sync::Arc};
use tokio::sync::mpsc::UnboundedReceiver;

/// ZooKeeper: a queue of ephemeral sequential nodes in `/fencepost/SEAT`, as Curator's LeaderLatch has them. A waiting
/// member watches the node before its own, and the first; the token is the czxid of the leader's node, the number of
/// the transaction that created it. (The number in a node's name starts again when the empty queue has been deleted.)
///
/// The server grants a session timeout between 2 and 20 of its ticks (4 to 40 s, unless it is configured otherwise),
/// whatever [`Settings::ttl`](crate::Settings::ttl) asks for. If it grants another one, the log says so, and the
/// belief counts by that one, less a margin that is as much shorter. A leader asks every sixth of it whether its session lives, and believes for two thirds
/// after it has sent a question that was answered: through the ensemble's leader, since a member that is cut off still
/// answers pings. That the connection is lost ends nothing: the session lives on, and moves to another connection, or
/// another member. A leader that resigns closes its session, and its node is gone at once; one that drops its
/// connection, or crashes, is followed when the session has timed out, at the tick after.
///
/// Tokens start again if ZooKeeper's data is lost. Whoever deletes the leader's node lets the next member in at once,
/// beside a leader that learns it up to a sixth of the timeout later; only the fence keeps that one out. The seat's nodes
/// are open to all clients of the ensemble, unless the seat [logs in](Zookeeper::login).
#[derive(Clone)]
pub struct Zookeeper {
    env: TokioEnv,
    endpoints: Arc<Vec<Endpoint>>,
    login: Option<Login>,
    /// Begins with a slash, or is empty.
    chroot: Arc<str>,
}

const FORM: &str = "HOST:PORT[,HOST:PORT…][/CHROOT]";

impl Zookeeper {
    /// ZooKeeper at `HOST:PORT[,HOST:PORT…][/CHROOT]`: the members of an ensemble, as its own clients read it. A
    /// chroot that does not exist is created. Dials when there is something to ask.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn connect(address: &str) -> Result<Self, AddressError> {
        Zookeeper::with(fresh_env(), address)
    }

    /// The same by TLS: at the servers' `secureClientPort`. Their certificates must be of these hosts; `tls` says whose
    /// signature they need, and has the client's own certificate if ZooKeeper asks for one.
    ///
    /// # Errors
    /// An address that cannot be used.
    #[cfg(feature = "tls")]
    pub fn connect_tls(address: &str, tls: &tokio_rustls::rustls::ClientConfig) -> Result<Self, AddressError> {
        Zookeeper::with(super::reach::secure_env(tls, super::reach::Handshake { alpn: b"", asks: false }), address)
    }

    /// The same as a user, by ZooKeeper's scheme `digest`: the seat's nodes are open to no other user. Log all members
    /// in, or none. Without TLS, the password goes over the network as it is.
    #[must_use]
    pub fn login(self, user: impl Into<String>, password: impl Into<String>) -> Self {
        let login = Some(Login { user: user.into(), password: password.into() });
        Zookeeper { login, ..self }
    }

    fn with(env: TokioEnv, address: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError::Wrong(without_password(address), FORM);
        let (hosts, chroot) = address.split_at(address.find('/').unwrap_or(address.len()));
        if hosts.is_empty() {
            return Err(if chroot.is_empty() { AddressError::None } else { wrong() });
        }
        let read = |host: &str| endpoint(host, 2181).ok_or_else(wrong);
        let endpoints: Vec<Endpoint> = hosts.split(',').map(read).collect::<Result<_, _>>()?;
        let chroot = chroot.trim_end_matches('/');
        let is_part = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(char::is_control);
        if !chroot.split('/').skip(1).all(is_part) {
            return Err(wrong());
        }
        Ok(Zookeeper { env, endpoints: Arc::new(endpoints), login: None, chroot: chroot.into() })
    }
}

impl Backend for Zookeeper {
    type Fencing = Fenced;
}

impl Service for Zookeeper {
    fn protocol(&self) -> &'static Protocol {
        &from_sending::PROTOCOL
    }

    fn env(&self) -> &TokioEnv {
        &self.env
    }

    fn granted(&self, ttl: u64) -> u64 {
        // As servers are configured, so the seat asks for what it was asked for, and is told.
        ttl.next_multiple_of(MILLISECOND)
    }

    fn session(&self) -> Option<Session> {
        Some(lease::ZOOKEEPER)
    }

    /// The session's silence has it.
    fn has_request_timeout(&self) -> bool {
        false
    }

    fn place(&self, seat: &str) -> Option<String> {
        Some(format!("{}/fencepost/{seat}", self.chroot))
    }

    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
        let (env, endpoints, login) = (self.env.clone(), self.endpoints.to_vec(), self.login.clone());
        Box::pin(async move { zookeeper::run_as(env, endpoints, login, outputs, move |input| deliver(input)).await })
    }
}

impl fmt::Debug for Zookeeper {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Zookeeper").field("endpoints", &self.endpoints).field("chroot", &self.chroot).finish()
    }
}
