//! Several members of etcd: the store, its leases and watches on a log that a majority agrees on ([`super::super::cluster`]).
//!
//! **After** etcd-io/etcd, 3.5.13 where nothing else is said: `etcdserver/v3_server.go` (what goes through the log, what is
//! read at a confirmed index, what is asked of the leader), `etcdserver/server.go` (`revokeExpiredLeases`,
//! `ensureLeadership`, `run`), `lease/lessor.go` (`Promote`, `Demote`, `Renew`, `findExpiredLeases`),
//! `lease/leasehttp/http.go`, `etcdserver/api/v3rpc/lease.go`, `pkg/idutil/id.go`.
//!
//! - A client talks to any member. What it writes is proposed there and comes back when that member has applied it; what it
//!   reads waits for an index that the leader has had confirmed by a majority, unless it asks for `serializable`.
//! - When leases end is known to the leader's lessor alone. A keepalive goes to it, from any member. A new leader gives
//!   every lease its whole time again, and an election timeout; a leader that is none any more lets them last for ever.
//! - An expired lease is revoked through the log, at the instance of whoever believes to lead. Since 3.5.13 and 3.4.31 that
//!   member has a majority confirm it first; before, one whose disk or process had stalled revoked leases which the next
//!   leader had renewed (etcd-io/etcd#15247): the bug `etcd-stale-revocation`.
//! - Without a majority nothing is answered but serializable reads: `etcdserver: request timed out` after 7 s, or
//!   `etcdserver: leader changed`.
//!
//! Not here: checkpoints of leases (off by default); `hasleader`, by which a stream ends when a member has known no leader
//! for 3 s; which of the three ways to say that a request timed out; the rate limits of the lessor, which matter to
//! hundreds of leases.

mod command;
mod lessor;
mod replica;
mod wire;

use crate::{
    service::{
        Dropped, Model, Serving, State,
        cluster::{
            ETCD,
            member::{Member, Place},
        },
        grants::Holder,
    },
    world::{self, env::SimEnv},
};
use protocols::{bug::Bugs, service::etcd};
use protocols_clients::{env::Env, site::Endpoint};
use replica::{Replica, Server};
use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

/// Where members listen for each other.
pub const PEER_PORT: u16 = 2380;

/// Members that were never started.
pub(in crate::service) fn members(count: usize, bugs: &Bugs) -> Vec<State> {
    let trusts_itself = bugs.has(&etcd::STALE_REVOCATION);
    let member = |place: usize| -> State {
        Arc::new(EtcdMember { place, count, trusts_itself, leads: Arc::default(), running: Mutex::default() })
    };
    (0..count).map(member).collect()
}

/// A member; what it knows is on its disk.
struct EtcdMember {
    place: usize,
    count: usize,
    trusts_itself: bool,
    leads: Arc<AtomicBool>,
    running: Mutex<Weak<Replica>>,
}

impl Model for EtcdMember {
    fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, _wall_ms: u64) -> Option<Holder> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(replica) = running.filter(|_| self.leads()) {
            replica.drop_leadership(candidate, group, what);
        }
        None
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move {
            self.leads.store(false, Ordering::Relaxed);
            let (names, founder) = world::with(|world| world.members_like(env.node));
            let endpoint = |host| Endpoint { host, port: PEER_PORT };
            let place = Place { own: self.place, peers: names.into_iter().map(endpoint).collect(), founder };
            debug_assert_eq!(place.peers.len(), self.count);
            let member = match Member::open(env, place, ETCD).await {
                Ok(member) => member,
                Err(_) => return world::model::crash_here(env.node).await,
            };
            let told = self.leads.clone();
            let leads = move |leads| {
                told.store(leads, Ordering::Relaxed);
                world::with(|world| world.service_leads());
            };
            let replica = Arc::new(Replica::new(self.place, env.now(), leads));
            *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&replica);
            let server = Server::new(env, member.clone(), replica.clone(), self.trusts_itself);
            let _tasks = server.start();
            let _clients = env.spawn(async move {
                // The port is the process's own.
                let _ = wire::serve(server, port).await;
            });
            match member.run(PEER_PORT, replica).await {
                Ok(()) => Ok(()),
                // What a failed sync was to save may be lost, whatever a later one says: the process ends.
                Err(_) => world::model::crash_here(env.node).await,
            }
        })
    }
}
