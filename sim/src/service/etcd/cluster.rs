//! Several members of etcd: the store, its leases and watches on a log that a majority agrees on
//! ([`super::super::cluster`]).
//!
//! **Modelled on** etcd-io/etcd, 3.5.13 unless stated otherwise: `etcdserver/v3_server.go` (what goes through the log,
//! what is read at a confirmed index, what the leader is asked), `etcdserver/server.go` (`revokeExpiredLeases`,
//! `ensureLeadership`, `run`), `lease/lessor.go` (`Promote`, `Demote`, `Renew`, `findExpiredLeases`),
//! `lease/leasehttp/http.go`, `etcdserver/api/v3rpc/lease.go`, `pkg/idutil/id.go`.
//!
//! - Clients may talk to any member. It proposes their writes and answers once it has applied them; reads wait for an
//!   index that a majority has confirmed to the leader, unless they ask for `serializable`.
//! - Only the leader's lessor knows when leases end. Keepalives go to it from any member. A new leader restarts every
//!   lease's full time, plus an election timeout; a former leader lets leases last for ever.
//! - A member that believes it leads revokes expired leases through the log. Since 3.5.13 and 3.4.31 it first has a
//!   majority confirm that it leads; before, a member whose disk or process had stalled revoked leases that the next
//!   leader had renewed (etcd-io/etcd#15247): the bug `etcd-stale-revocation`.
//! - Without a majority, only serializable reads are answered; the rest fails with `etcdserver: request timed out`
//!   after 7 s, or with `etcdserver: leader changed`.
//!
//! Not modelled: lease checkpoints (off by default); `hasleader`, which ends a stream when a member has known no leader
//! for 3 s; which of three messages reports a timeout; the lessor's rate limits, which matter to hundreds of leases.

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
