//! The services that a seat can stand on.

#[cfg(feature = "consul")]
pub(crate) mod consul;
#[cfg(feature = "etcd")]
pub(crate) mod etcd;
#[cfg(feature = "kubernetes")]
pub(crate) mod kubernetes;
pub(crate) mod lease;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "postgres")]
pub(crate) mod postgres_lock;
#[cfg(feature = "raft")]
pub(crate) mod raft;
#[allow(dead_code, reason = "each service needs some of it")]
pub(crate) mod reach;
#[cfg(feature = "redis")]
pub(crate) mod redis;
#[cfg(feature = "redis")]
pub(crate) mod redlock;
#[cfg(feature = "zookeeper")]
pub(crate) mod zookeeper;

use crate::{error::SettingsError, lead::Fencing, observer::Observer};
pub(crate) use lease::{Counted, Heard, Session};
use protocols::{
    election::{Protocol, Timings},
    elector::{ServiceInput, ServiceOutput},
    payload::Opaque,
};
use protocols_clients::env::tokio::TokioEnv;
use std::{future::Future, pin::Pin, sync::Arc};
use tokio::sync::mpsc::UnboundedReceiver;

/// Independent servers, a majority of which is the service.
#[derive(Clone, Copy)]
pub struct Servers {
    pub(crate) count: u16,
    /// Which of them this request is for.
    pub(crate) asked: fn(&Opaque) -> Option<usize>,
}

/// A coordination service. Clones are the same service, for several seats.
pub trait Backend: Clone + Send + Sync + 'static + Service {
    /// Whether its leaderships have tokens.
    type Fencing: Fencing;
}

/// A client at work.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;
/// Takes its answers.
pub type Deliver = Arc<dyn Fn(ServiceInput) + Send + Sync>;

/// What the crate itself needs of a service; nobody else can implement it.
#[doc(hidden)]
pub trait Service {
    fn protocol(&self) -> &'static Protocol;
    fn env(&self) -> &TokioEnv;
    /// The TTL of the lease by which a belief counts, for one that is asked for; nanoseconds.
    fn granted(&self, ttl: u64) -> u64 {
        (self.protocol().granted_ttl)(ttl)
    }
    /// The service's rule for names, if this seat's breaks it.
    fn refuses(&self, _seat: &str) -> Option<&'static str> {
        None
    }
    /// Whether its requests have the timeout that is set.
    fn has_request_timeout(&self) -> bool {
        true
    }
    /// `None` if the core's own belief ends.
    fn counted(&self) -> Option<Counted> {
        None
    }
    /// `None` if nothing but the core's requests keeps the lease.
    fn session(&self) -> Option<Session> {
        None
    }
    /// Takes a seat on this service for this member; says who all members are, if the service knows them.
    fn claimed(&self, seat: &str, member: &str, timings: &Timings) -> Result<Option<Vec<String>>, SettingsError> {
        let _ = (seat, member, timings);
        Ok(None)
    }
    /// The same service, for leases of this length in nanoseconds.
    fn lasting(self, _lease: u64) -> Self
    where
        Self: Sized,
    {
        self
    }
    /// `None` if it is one service.
    fn servers(&self) -> Option<Servers> {
        None
    }
    /// Whether what a leader holds ends at once with its client, and not when a lease has run out.
    fn ends_with_its_client(&self) -> bool {
        false
    }
    /// What a seat's keys are called by; `None` if they are those of a fleet with one election.
    fn place(&self, seat: &str) -> Option<String> {
        Some(seat.to_owned())
    }
    /// Who is told what a campaign does.
    fn observer(&self) -> Option<Arc<dyn Observer>> {
        None
    }
    /// Carries out an elector's requests until the channel closes.
    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running;
}

/// An address that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    #[error("an address is needed")]
    None,
    #[error("`{0}` is no address of this service: use `{1}`")]
    Wrong(String, &'static str),
    #[error("`{0}` asks for TLS: use `connect_tls`, of the feature `tls`")]
    Tls(String),
    #[error("a majority needs at least three servers, and there are {0}")]
    Few(usize),
    #[error("`{0}` is named twice, and each has one vote")]
    Twice(String),
    /// Not shown: it is a secret.
    #[error("the token is empty, or has other characters than visible ones of ASCII")]
    Token,
}
