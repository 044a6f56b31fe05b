use super::{AddressError, Backend, Deliver, Running, Servers, Service, reach::fresh_env, redis::Redis};
use crate::lead::Unfenced;
use protocols::{
    election::{Protocol, redlock::from_sending},
    elector::ServiceOutput,
    payload::Opaque,
    service::redis_servers::Request,
};
use protocols_clients::{env::tokio::TokioEnv, redis_servers};
use std::{fmt, sync::Arc};
use tokio::sync::mpsc::UnboundedReceiver;

/// Redlock: a key with a TTL on a majority of independent Redis servers, and **no token**, since independent servers
/// cannot agree on one. Nothing that the leader writes can be fenced: where its work writes anywhere, take
/// [`Redis`](crate::Redis) instead, or a service that survives the loss of a member and has tokens. A waiting member
/// polls.
///
/// **What it promises.** While a majority of the servers answers, one leads; the loss of a minority costs nothing. All
/// servers are asked at once (Redis's page *Distributed Locks with Redis*, whose algorithm it is). The belief lasts for
/// the TTL, less a hundredth of it and 2 ms (the page's allowance for clocks) and the margin, after the requests were
/// sent that a majority has granted. A renewal without a majority is made again while that lasts.
///
/// **When two can believe**, or the resource accepts a former leader's write (Kleppmann, *How to do distributed
/// locking*, describes the first two):
/// - The leader is paused for longer than its belief, between a check and a write. Its own clock says so when it goes
///   on, and the write that it was about to send is sent all the same: only a token would keep it out.
/// - The wall clocks of a majority's servers are set forward: Redis times keys by them.
/// - A server of the majority comes back without the key: after a crash unless it has `appendonly yes` and `appendfsync
///   always`, after a failover to its replica, or because it evicts keys. It must stay away for one TTL then, as the
///   page says; the seat cannot know it. So use servers without replicas that persist each write, on machines that do
///   not fail together.
#[derive(Clone)]
pub struct Redlock {
    env: TokioEnv,
    servers: Arc<Vec<Redis>>,
}

impl Redlock {
    /// Independent Redis servers, `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]` each: at least three, and an odd
    /// number, as a fourth one helps no more than three do. Name the same ones to all members. Dials when there is
    /// something to ask.
    ///
    /// # Errors
    /// An address that cannot be used, or that is there twice; fewer than three.
    pub fn connect<S: AsRef<str>>(addresses: impl IntoIterator<Item = S>) -> Result<Self, AddressError> {
        let env = fresh_env();
        let server = |address: S| Redis::plain(env.clone(), address.as_ref());
        let servers = addresses.into_iter().map(server).collect::<Result<_, _>>()?;
        Redlock::of(env, servers)
    }

    /// The same by TLS, at `rediss://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, as for
    /// [`Redis::connect_tls`](crate::Redis::connect_tls).
    ///
    /// # Errors
    /// An address that cannot be used, or that is there twice; fewer than three.
    #[cfg(feature = "tls")]
    pub fn connect_tls<S: AsRef<str>>(
        addresses: impl IntoIterator<Item = S>,
        tls: &tokio_rustls::rustls::ClientConfig,
    ) -> Result<Self, AddressError> {
        let env = super::reach::secure_env(tls, super::reach::Handshake { alpn: b"", asks: false });
        let server = |address: S| Redis::encrypted(env.clone(), address.as_ref());
        let servers = addresses.into_iter().map(server).collect::<Result<_, _>>()?;
        Redlock::of(env, servers)
    }

    fn of(env: TokioEnv, servers: Vec<Redis>) -> Result<Self, AddressError> {
        let before = |place: usize| servers[..place].iter().any(|other| other.address == servers[place].address);
        if let Some(place) = (0..servers.len()).find(|place| before(*place)) {
            return Err(AddressError::Twice(servers[place].address.clone()));
        }
        match servers.len() {
            0 => Err(AddressError::None),
            few @ 1..3 => Err(AddressError::Few(few)),
            _ => Ok(Redlock { env, servers: Arc::new(servers) }),
        }
    }
}

fn asked(request: &Opaque) -> Option<usize> {
    request.get().map(|request: &Request| request.member)
}

impl Backend for Redlock {
    type Fencing = Unfenced;
}

impl Service for Redlock {
    fn protocol(&self) -> &'static Protocol {
        &from_sending::PROTOCOL
    }

    fn env(&self) -> &TokioEnv {
        &self.env
    }

    fn servers(&self) -> Option<Servers> {
        let count = u16::try_from(self.servers.len()).unwrap_or(u16::MAX);
        Some(Servers { count, asked })
    }

    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
        let env = self.env.clone();
        let servers = self.servers.iter().map(|server| server.connection.clone()).collect();
        Box::pin(async move { redis_servers::run_on(env, servers, outputs, move |input| deliver(input)).await })
    }
}

impl fmt::Debug for Redlock {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Redlock").field(&self.servers).finish()
    }
}
