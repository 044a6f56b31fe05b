//! `service-restored`: the coordination service dies, and somebody restores a backup of it.
//!
//! The backup is from before leadership changed hands eight times, so it says that somebody leads who has given that up, and its
//! tokens are those of the past. As for `service-data-loss` the resource refuses every leader until tokens have caught up. Beyond
//! that, what is restored *holds*: a key of a lease that somebody still keeps alive is nobody's, since its owner has let go of it
//! and does not know that it is back.
//!
//! A former leader that keeps its session alive is told nothing either: what it watches from is a revision that is yet to come. So
//! on etcd with one key (`etcd-key`) two believe until the run ends, and only the token tells them apart. etcd has
//! `etcdutl snapshot restore --bump-revision … --mark-compacted` for it: revisions go on from far above, and watches of what was
//! are refused (etcd-io/etcd issue 16028, pull request 16029).
//!
//! Of Redis behind Sentinel the primary is restored, and its replicas are made copies of what it has.
//!
//! On ZooKeeper it matters whether one server is restored or an ensemble. A server sends away clients that have seen a later zxid
//! than it has, so that their sessions end. An ensemble elects, and with that begins an epoch: its zxids are above all that
//! anybody has seen, sessions go on, and with them the nodes that their owners have given up and do not know of. Whoever comes
//! next in the queue waits for those, and nobody leads any more.

use super::{Needs, Scenario, promise::QUEUES, service_data_loss};
use crate::{fault::Fault, params::Params, plan::Plan};
use protocols::election::{Hazard, Protocol};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "service-restored",
    about: "The coordination service is restored from a backup that was made before several changes of leadership.",
    story: "Eight leaders give leadership up, one after the other. Then, at a time drawn from the seed, the coordination service \
            dies, and within half a second one answers in its place that has what was there when the first of them led. Who \
            leads by that is not who does, and tokens are given that were given before.",
    hazard: Hazard::ServiceRestored,
    needs: Needs::Data,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let mut plan =
        service_data_loss::plan_of(SCENARIO.name, params, protocol, seed, |settled_ms, node, restart_after_ms| {
            Fault::RestoreCopy { node, copied_at_ms: settled_ms - 100.0, restart_after_ms }
        });
    // A controller's node that comes back is nobody's either, if the session that made it has gone on; that is chance.
    if params.members_agree(protocol) && protocol.service.counts_places && !QUEUES.contains(&protocol.name) {
        plan.liveness_bound_ms = plan.duration_ms;
    }
    plan
}
