//! Several Consul servers: sessions and keys on a log that a majority agrees on ([`super::super::cluster`]).
//!
//! **Modelled on** hashicorp/consul 1.8.7: `agent/consul/rpc.go: forward, canRetry, consistentRead`,
//! `agent/consul/session_ttl.go: initializeSessionTimers, invalidateSession, clearAllSessionTimers`,
//! `agent/consul/kvs_endpoint.go: kvsPreApply`, `agent/consul/state/session.go: deleteSessionTxn`,
//! `agent/consul/leader.go`; hashicorp/raft 1.1, `raft.go`, `config.go`, with `raft_multiplier` 1, as Consul's
//! production guide recommends.
//!
//! - A server that does not lead forwards every request to the leader, including reads unless they ask for `stale`.
//!   While there is no leader it retries for 7 s, and then answers 500, `No cluster leader`. A request forwarded to a
//!   leader that falls silent fails after 10 to 40 s.
//! - A leader answers reads from its copy without checking that it still leads (`default`); for `consistent` it first
//!   asks a majority to confirm. So a leader that is cut off gives stale answers until it steps down, 500 ms later, or
//!   once it runs again (hashicorp/consul#54).
//! - Only the leader knows when sessions end: a new one restarts each session's full time, twice its time to live. The
//!   leader at that time writes the end of the session, with retries for ten minutes.
//! - Every server sets lock-delays as it applies the log, by its own clock, and only the leader's count: a lock-delay
//!   continues after an election, and restarts on a server that restarts.
//!
//! The client is its own agent (`protocols/clients/src/consul/agent.rs`): it picks a random server, and stays with it
//! until it cannot be reached, or gossip has given it up.
//!
//! A session belongs to the node of the agent that requested it, and ends with that node's check `serfHealth`
//! (`agent/session_endpoint.go: SessionCreate`, `agent/consul/leader.go: handleFailedMember`). Here that agent runs on
//! the candidate's own machine, as Consul's documentation recommends, and stays up when a server fails. Sessions
//! requested from a server directly end when gossip gives up that server: `docs/clusters.md` tells how often.
//!
//! Not modelled: servers that come and go (Serf, autopilot); gossip, which ends the sessions of a machine without power
//! within seconds, while here they last their full time; the barrier that a new leader waits for, except for consistent
//! reads.

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

/// `count` servers that were never started.
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
        // Consensus knows the front before any server forwards a request.
        let server = super::wire::member(agreement.env, agreement);
        async move { server.serve(port).await }
    }

    fn drop_leadership(agreement: &Arc<Agreement>, candidate: &str, group: u16, what: Dropped) {
        agreement.drop_leadership(candidate, group, what);
    }
}
