//! Several Consul servers: sessions and keys on a log that a majority agrees on ([`super::super::cluster`]).
//!
//! **After** hashicorp/consul 1.8.7: `agent/consul/rpc.go: forward, canRetry, consistentRead`, `agent/consul/session_ttl.go:
//! initializeSessionTimers, invalidateSession, clearAllSessionTimers`, `agent/consul/kvs_endpoint.go: kvsPreApply`,
//! `agent/consul/state/session.go: deleteSessionTxn`, `agent/consul/leader.go`; hashicorp/raft 1.1, `raft.go`, `config.go`,
//! with `raft_multiplier` 1, as Consul's guide for production has it.
//!
//! - A server that does not lead passes every request on to the one that does, reads too, unless they ask for `stale`. While
//!   none leads it tries again for 7 s, and answers 500, `No cluster leader`.
//! - A leader answers reads from what it has, without asking anybody whether it still leads (`default`); `consistent` has a
//!   majority confirm it first. So a leader that was cut off answers what is old until it steps down, 500 ms later, or as
//!   soon as it runs again (hashicorp/consul#54).
//! - When sessions end is known to the leader alone: a new one gives each its whole time again, twice its time to live. The
//!   end is written by whoever led when it came, and is tried again for ten minutes.
//! - Lock-delays are set by every server as it applies the log, each by its own clock, and only the leader's counts: one
//!   goes on after an election, and begins anew on a server that was restarted.
//!
//! The client is its own agent: it keeps to one server, from one that is drawn, until that one cannot be reached.
//!
//! Not here: servers that come and go (Serf, autopilot); the barrier that a new leader waits for before it is one, but for
//! reads that are to be consistent.

pub(super) mod agreement;

use crate::{
    service::{
        Dropped, Model, Serving, State,
        cluster::{
            CONSUL,
            member::{Member, Place},
        },
        grants::Holder,
    },
    world::{self, env::SimEnv},
};
use agreement::Agreement;
use protocols_clients::{env::Env, site::Endpoint};
use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

/// Where servers listen for each other.
pub const PEER_PORT: u16 = 8300;

/// Servers that were never started.
pub(in crate::service) fn members(count: usize) -> Vec<State> {
    let member =
        |place: usize| -> State { Arc::new(ConsulServer { place, leads: Arc::default(), running: Mutex::default() }) };
    (0..count).map(member).collect()
}

/// A server; what it knows is on its disk.
struct ConsulServer {
    place: usize,
    leads: Arc<AtomicBool>,
    running: Mutex<Weak<Agreement>>,
}

impl Model for ConsulServer {
    fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, _wall_ms: u64) -> Option<Holder> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(agreement) = running.filter(|_| self.leads()) {
            agreement.drop_leadership(candidate, group, what);
        }
        None
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move {
            self.leads.store(false, Ordering::Relaxed);
            let (names, founder) = world::with(|world| world.members_like(env.node));
            let endpoint = |host| Endpoint { host, port: PEER_PORT };
            let place = Place { own: self.place, peers: names.into_iter().map(endpoint).collect(), founder };
            let Ok(member) = Member::open(env, place, CONSUL).await else {
                return world::model::crash_here(env.node).await;
            };
            let told = self.leads.clone();
            let leads = move |leads| {
                told.store(leads, Ordering::Relaxed);
                world::with(|world| world.service_leads());
            };
            let agreement = Agreement::new(env, member.clone(), leads);
            *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&agreement);
            let server = super::wire::member(env, agreement.clone());
            let _tasks = [env.spawn(agreement.clone().expire())];
            let _clients = env.spawn(async move {
                // The port is the process's own.
                let _ = server.serve(port).await;
            });
            match member.run(PEER_PORT, agreement).await {
                Ok(()) => Ok(()),
                // What a failed sync was to save may be lost, whatever a later one says: the process ends.
                Err(_) => world::model::crash_here(env.node).await,
            }
        })
    }
}
