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

use crate::service::{
    Dropped, State,
    cluster::{
        ETCD, Rules,
        seat::{self, Clustered, Seat, Task},
    },
};
use protocols::{bug::Bugs, service::etcd};
use protocols_clients::env::Env;
use replica::{Replica, Server};
use std::{io, sync::Arc};

/// Members that were never started.
pub(in crate::service) fn members(count: usize, bugs: &Bugs) -> Vec<State> {
    let trusts_itself = bugs.has(&etcd::STALE_REVOCATION);
    seat::members(count, || Etcd { trusts_itself })
}

struct Etcd {
    trusts_itself: bool,
}

impl Clustered for Etcd {
    const RULES: Rules = ETCD;
    const PEER_PORT: u16 = 2380;
    type Machine = Replica;
    type Front = Server;

    fn open(&self, Seat { env, member, place, leads }: Seat) -> (Arc<Replica>, Arc<Server>) {
        let replica = Arc::new(Replica::new(place, env.now(), leads));
        let server = Server::new(env, member, replica.clone(), self.trusts_itself);
        (replica, server)
    }

    fn start(server: &Arc<Server>) -> Vec<Task> {
        server.start()
    }

    async fn serve(server: Arc<Server>, port: u16) -> io::Result<()> {
        wire::serve(server, port).await
    }

    fn drop_leadership(server: &Arc<Server>, candidate: &str, group: u16, what: Dropped) {
        server.replica.drop_leadership(candidate, group, what);
    }
}
