//! Several members of ZooKeeper: nodes and sessions on a log that a majority agrees on ([`super::super::cluster`]).
//!
//! **Modelled on** apache/zookeeper 3.8.0, `zookeeper-server/src/main/java/org/apache/zookeeper/server/`:
//! `quorum/Leader.java`, `LearnerHandler.java`, `Learner.java`, `Follower.java` (leadership, pings, `REVALIDATE`,
//! `SYNC`), `quorum/LeaderSessionTracker.java`, `LearnerSessionTracker.java`, `SessionTrackerImpl.java` (expiry of
//! sessions), `quorum/CommitProcessor.java` (a session's requests wait for its writes), `NIOServerCnxn.java` (refused
//! connections).
//!
//! - A client talks to one member. Writes go through the log, and are answered once that member has applied them; reads
//!   are answered from its copy, which may be stale. `sync` waits for all entries that the leader has, without
//!   confirming that it still leads.
//! - Only the leader knows when sessions end; it pings its followers twice per tick, and they answer with the sessions
//!   heard from. So a leader that was stopped, but not replaced, ends all sessions whose time has passed by its clock,
//!   before it can learn that they were alive. A new leader restarts every session's timeout. A former leader that
//!   wakes proposes expiries itself, and nobody follows it.
//! - A client with an existing session is accepted if the leader confirms the session.
//! - A member that neither leads nor follows serves nobody: connections are closed when the leader is lost, and when
//!   they request a session. After an election all clients reconnect, and a member serves once it has the leader's
//!   initial state.
//! - The election is the log's; unlike in ZooKeeper, the member with the longest log need not win. It takes as long.
//!
//! Not modelled: requests on the old connection of a session that has moved are accepted instead of refused
//! (`SessionMovedException`); the time of a change is that of the member asked; local sessions, observers, read-only
//! members.

mod front;
mod replica;

use crate::service::{
    Dropped, State,
    cluster::{
        Rules, ZOOKEEPER,
        seat::{self, Clustered, Seat, Task},
    },
};
use front::Server;
use protocols_clients::env::Env;
use replica::Replica;
use std::{io, sync::Arc};

/// Members that were never started.
pub(in crate::service) fn members(count: usize) -> Vec<State> {
    seat::members(count, || Zookeeper)
}

struct Zookeeper;

impl Clustered for Zookeeper {
    const RULES: Rules = ZOOKEEPER;
    const PEER_PORT: u16 = 2888;
    type Machine = Replica;
    type Front = Server;

    fn open(&self, Seat { env, member, place, leads }: Seat) -> (Arc<Replica>, Arc<Server>) {
        let replica = Arc::new(Replica::new(leads));
        let server = Server::new(env, member, replica.clone(), place);
        (replica, server)
    }

    fn start(server: &Arc<Server>) -> Vec<Task> {
        vec![server.env.spawn(server.clone().expire()), server.env.spawn(server.clone().ping())]
    }

    async fn serve(server: Arc<Server>, port: u16) -> io::Result<()> {
        server.serve(port).await
    }

    fn drop_leadership(server: &Arc<Server>, candidate: &str, group: u16, what: Dropped) {
        server.drop_leadership(candidate, group, what);
    }
}
