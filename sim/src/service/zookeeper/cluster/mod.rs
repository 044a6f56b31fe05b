//! Several members of ZooKeeper: nodes and sessions on a log that a majority agrees on ([`super::super::cluster`]).
//!
//! **After** apache/zookeeper 3.8.0, `zookeeper-server/src/main/java/org/apache/zookeeper/server/`: `quorum/Leader.java`,
//! `LearnerHandler.java`, `Learner.java`, `Follower.java` (who leads, pings, `REVALIDATE`, `SYNC`),
//! `quorum/LeaderSessionTracker.java`, `LearnerSessionTracker.java`, `SessionTrackerImpl.java` (when sessions end),
//! `quorum/CommitProcessor.java` (a session's requests wait for its writes), `NIOServerCnxn.java` (who is not served).
//!
//! - A client talks to one member. Writes go through the log, and are answered when that member has applied them; reads are
//!   answered from what it has, which may be old. `sync` waits for what the leader has in its hands, and asks nobody whether
//!   it still leads.
//! - When sessions end is known to the leader alone; it hears of signs of life from its followers twice a tick. A new leader
//!   gives every session its whole timeout again. What an old one wants to end when it wakes up, it proposes itself, and
//!   nobody follows it any more.
//! - A client that comes with a session is taken when the leader says that the session goes on.
//! - Whoever leads or follows nobody serves nobody: connections are closed when the leader is gone, and as soon as they ask
//!   for a session. After an election all clients connect anew, and a member serves when it has what the leader begins with.
//! - The election is the log's own, in which the member with the longest log need not win as in ZooKeeper; it takes as long.
//!
//! Not here: requests on the old connection of a session that has moved are taken, not refused (`SessionMovedException`);
//! the time of a change is that of the member that was asked; local sessions, observers, read-only members.

mod front;
mod replica;

use crate::{
    service::{
        Dropped, Model, Serving, State,
        cluster::{
            ZOOKEEPER,
            member::{Member, Place},
        },
        grants::Holder,
    },
    world::{self, env::SimEnv},
};
use front::Server;
use protocols_clients::{env::Env, site::Endpoint};
use replica::Replica;
use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

/// Where members listen for each other.
pub const PEER_PORT: u16 = 2888;

/// Members that were never started.
pub(in crate::service) fn members(count: usize) -> Vec<State> {
    let member = |place: usize| -> State {
        Arc::new(ZookeeperMember { place, leads: Arc::default(), running: Mutex::default() })
    };
    (0..count).map(member).collect()
}

/// A member; what it knows is on its disk.
struct ZookeeperMember {
    place: usize,
    leads: Arc<AtomicBool>,
    running: Mutex<Weak<Server>>,
}

impl Model for ZookeeperMember {
    fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, _wall_ms: u64) -> Option<Holder> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(server) = running.filter(|_| self.leads()) {
            server.drop_leadership(candidate, group, what);
        }
        None
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move {
            self.leads.store(false, Ordering::Relaxed);
            let (names, founder) = world::with(|world| world.members_like(env.node));
            let endpoint = |host| Endpoint { host, port: PEER_PORT };
            let place = Place { own: self.place, peers: names.into_iter().map(endpoint).collect(), founder };
            let Ok(member) = Member::open(env, place, ZOOKEEPER).await else {
                return world::model::crash_here(env.node).await;
            };
            let told = self.leads.clone();
            let leads = move |leads| {
                told.store(leads, Ordering::Relaxed);
                world::with(|world| world.service_leads());
            };
            let replica = Arc::new(Replica::new(leads));
            let server = Server::new(env, member.clone(), replica.clone(), self.place);
            *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&server);
            let _tasks = [env.spawn(server.clone().expire()), env.spawn(server.clone().report())];
            let _clients = env.spawn(async move {
                // The port is the process's own.
                let _ = server.serve(port).await;
            });
            match member.run(PEER_PORT, replica).await {
                Ok(()) => Ok(()),
                // What a failed sync was to save may be lost, whatever a later one says: the process ends.
                Err(_) => world::model::crash_here(env.node).await,
            }
        })
    }
}
