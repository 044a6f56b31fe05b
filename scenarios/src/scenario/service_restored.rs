//! `service-restored`: the coordination service dies, and an operator restores it from a backup.
//!
//! The backup was made before leadership changed hands eight times, so it names a leader that has given up leadership,
//! and its tokens are old. As in `service-data-loss` the resource refuses every leader until tokens have caught up.
//! Beyond that, restored state *holds* locks: a key on a lease that its client still keeps alive has no owner, since
//! its client has released it and does not know that it is back.
//!
//! A former leader that keeps its session alive is told nothing either: it watches from a revision that is yet to come.
//! So on etcd with one key (`etcd-key`) two believe until the run ends, and only the token tells them apart. etcd has
//! `etcdutl snapshot restore --bump-revision … --mark-compacted` for it: revisions continue far above, and watches from
//! old revisions are refused (etcd-io/etcd issue 16028, pull request 16029).
//!
//! Of Redis behind Sentinel the primary is restored, and its replicas become copies of it.
//!
//! On ZooKeeper it matters whether one server is restored or an ensemble. A single server rejects clients that have
//! seen a later zxid than its own, so their sessions end. An ensemble elects, which begins an epoch: its zxids are
//! above any that clients have seen, so sessions go on, and with them the nodes that their owners have given up and do
//! not know of. The next in the queue waits for those nodes, and nobody leads any more.

use super::{Needs, Scenario, promise::QUEUES, service_data_loss};
use crate::{fault::Fault, params::Params, plan::Plan};
use protocols::election::{Protocol, hazard};

pub const SCENARIO: Scenario = Scenario {
    name: "service-restored",
    about: "The coordination service is restored from a backup that was made before several changes of leadership.",
    story: "Eight leaders give leadership up, one after the other. Then, at a time drawn from the seed, the \
            coordination service dies, and within half a second one answers in its place that has the state from when \
            the first of them led. By that state another node leads than the one that does, and tokens are granted \
            that were granted before.",
    hazard: hazard::SERVICE_RESTORED,
    needs: Needs::Data,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let mut plan =
        service_data_loss::plan_of(SCENARIO.name, params, protocol, seed, |settled_ms, node, restart_after_ms| {
            Fault::RestoreCopy { node, copied_at_ms: settled_ms - 100.0, restart_after_ms }
        });
    // A restored controller's node has no owner either, if the session that made it lives on; that depends on chance.
    if params.members_agree(protocol) && protocol.service.counts_places && !QUEUES.contains(&protocol.name) {
        plan.liveness_bound_ms = plan.duration_ms;
    }
    plan
}
