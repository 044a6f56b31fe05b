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
//! - When sessions end is known to the leader alone; it pings its followers twice a tick, and they answer with the signs of
//!   life that they have had. So a leader that was stopped, and not for so long that it is replaced, ends all sessions whose
//!   time has passed by its clock, before it can hear that they were alive. A new leader
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
