//! Several Consul servers: sessions and keys on a log that a majority agrees on ([`super::super::cluster`]).
//!
//! **After** hashicorp/consul 1.8.7: `agent/consul/rpc.go: forward, canRetry, consistentRead`, `agent/consul/session_ttl.go:
//! initializeSessionTimers, invalidateSession, clearAllSessionTimers`, `agent/consul/kvs_endpoint.go: kvsPreApply`,
//! `agent/consul/state/session.go: deleteSessionTxn`, `agent/consul/leader.go`; hashicorp/raft 1.1, `raft.go`, `config.go`,
//! with `raft_multiplier` 1, as Consul's guide for production has it.
//!
//! - A server that does not lead passes every request on to the one that does, reads too, unless they ask for `stale`. While
//!   none leads it tries again for 7 s, and answers 500, `No cluster leader`. What was passed on to a leader that says nothing
//!   any more comes back with an error after 10 to 40 s.
//! - A leader answers reads from what it has, without asking anybody whether it still leads (`default`); `consistent` has a
//!   majority confirm it first. So a leader that was cut off answers what is old until it steps down, 500 ms later, or as
//!   soon as it runs again (hashicorp/consul#54).
//! - When sessions end is known to the leader alone: a new one gives each its whole time again, twice its time to live. The
//!   end is written by whoever led when it came, and is tried again for ten minutes.
//! - Lock-delays are set by every server as it applies the log, each by its own clock, and only the leader's counts: one
//!   goes on after an election, and begins anew on a server that was restarted.
//!
//! The client is its own agent (`protocols/clients/src/consul/agent.rs`): it keeps to one server, from one that is drawn, until
//! that one cannot be reached, or gossip has given it up.
//!
//! A session belongs to the node of the agent that has asked for it, and ends with that node's check `serfHealth`
//! (`agent/session_endpoint.go: SessionCreate`, `agent/consul/leader.go: handleFailedMember`). Here that is an agent on the
//! candidate's own machine, as Consul's documentation has it, which is up whatever becomes of a server. Whoever asks a server
//! itself has sessions that end when gossip gives up that server: `docs/clusters.md` has how often.
//!
//! Not here: servers that come and go (Serf, autopilot); gossip, by which a machine without power ends its sessions within
//! seconds, where they last for their whole time here; the barrier that a new leader waits for before it is one, but for
//! reads that are to be consistent.

pub(super) mod agreement;

use crate::service::{
    Dropped, State,
    cluster::{
        CONSUL, Rules,
        seat::{self, Clustered, Seat, Task},
    },
};
use agreement::Agreement;
use protocols_clients::env::Env;
use std::{io, sync::Arc};

/// Servers that were never started.
pub(in crate::service) fn members(count: usize) -> Vec<State> {
    seat::members(count, || Consul)
}

struct Consul;

impl Clustered for Consul {
    const RULES: Rules = CONSUL;
    const PEER_PORT: u16 = 8300;
    type Machine = Agreement;
    type Front = Agreement;

    fn open(&self, Seat { env, member, leads, .. }: Seat) -> (Arc<Agreement>, Arc<Agreement>) {
        let agreement = Agreement::new(env, member, leads);
        (agreement.clone(), agreement)
    }

    fn start(agreement: &Arc<Agreement>) -> Vec<Task> {
        vec![agreement.env.spawn(agreement.clone().expire())]
    }

    fn serve(agreement: Arc<Agreement>, port: u16) -> impl Future<Output = io::Result<()>> + Send {
        // It is known to the agreement before any other server passes a request on.
        let server = super::wire::member(agreement.env, agreement);
        async move { server.serve(port).await }
    }

    fn drop_leadership(agreement: &Arc<Agreement>, candidate: &str, group: u16, what: Dropped) {
        agreement.drop_leadership(candidate, group, what);
    }
}
