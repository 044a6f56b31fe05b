//! kube-leader-election 0.44.0. Its README says that several replicas may act as leader "for a short amount of time".

use crate::{
    services::kube_leader_election::service,
    suite::{STRIKES_S, quiet},
    world::{at, before_send, cut_off, kill, named, pause, tell},
};
use protocols::types::NodeId;
use scenarios::fault::Who;

/// The example `shared-lease` logs an error and leaves `is_leader` as it was (line 47), and `LeaseLock` says nothing of a
/// deadline: so the leader leads for as long as it cannot ask.
#[test]
fn a_leader_leads_for_as_long_as_it_cannot_ask() {
    let before = tell(&service(), &quiet(&service())).leader(STRIKES_S);
    for leases in [2.0, 4.0] {
        let story = quiet(&service()).lasting(20.0 + (leases + 2.0) * service().lease_s);
        let told = tell(&service(), &story.with(at(STRIKES_S), cut_off(named(before), leases * service().lease_s)));
        assert!(told.last_write(before) > STRIKES_S + leases * service().lease_s, "{}", told.log());
        assert!(told.two_lead(), "{:?}", told.violated);
    }
}

/// `acquire_lease` (`lease.rs`, line 212) merges its name into whatever is there: no resourceVersion is compared, although
/// the lease was read before. A candidate that stops for two seconds in between takes the lease from whoever took it
/// meanwhile; each has been told `Acquired`.
#[test]
fn two_candidates_take_one_expired_lease() {
    let before = tell(&service(), &quiet(&service())).leader(STRIKES_S);
    let others = (0..3).map(NodeId).filter(|node| *node != before);
    let paused = |(node, nth): (NodeId, u64)| {
        let story = quiet(&service()).with(at(STRIKES_S), kill(named(before)));
        tell(&service(), &story.with(before_send(&named(node), nth, STRIKES_S), pause(Who::Trigger, 2.0)))
    };
    let told = others.flat_map(|node| (1..=8).map(move |nth| (node, nth))).map(paused);
    let two = told.filter(crate::world::Told::two_lead).count();
    assert!(two > 0, "no pause of a candidate lets two lead");
}
