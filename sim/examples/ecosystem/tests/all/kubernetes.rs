//! Crates that elect by a Lease of Kubernetes.

use crate::{
    services::{kube_leader_election, kube_lease_manager, kubert},
    suite::{STRIKES_S, quiet},
    world::{Told, at, before_send, cut_off, kill, named, pause, tell},
};
use protocols::types::NodeId;
use scenarios::fault::{Fault, Who};

// kube-leader-election 0.44.0. Its README says that several replicas may act as leader "for a short amount of time".

/// The example `shared-lease` logs an error and leaves `is_leader` as it was (line 47), and `LeaseLock` says nothing of a
/// deadline: so the leader leads for as long as it cannot ask.
#[test]
fn a_leader_leads_for_as_long_as_it_cannot_ask() {
    let before = tell(&kube_leader_election::service(), &quiet(&kube_leader_election::service())).leader(STRIKES_S);
    for leases in [2.0, 4.0] {
        let story = quiet(&kube_leader_election::service())
            .lasting(20.0 + (leases + 2.0) * kube_leader_election::service().lease_s);
        let told = tell(
            &kube_leader_election::service(),
            &story.with(at(STRIKES_S), cut_off(named(before), leases * kube_leader_election::service().lease_s)),
        );
        assert!(
            told.last_write(before) > STRIKES_S + leases * kube_leader_election::service().lease_s,
            "{}",
            told.log()
        );
        assert!(told.two_lead(), "{:?}", told.violated);
    }
}

/// `acquire_lease` (`lease.rs`, line 212) merges its name into whatever is there: no resourceVersion is compared, although
/// the lease was read before. A candidate that stops for two seconds in between takes the lease from whoever took it
/// meanwhile; each has been told `Acquired`.
#[test]
fn two_candidates_take_one_expired_lease() {
    let before = tell(&kube_leader_election::service(), &quiet(&kube_leader_election::service())).leader(STRIKES_S);
    let others = (0..3).map(NodeId).filter(|node| *node != before);
    let paused = |(node, nth): (NodeId, u64)| {
        let story = quiet(&kube_leader_election::service()).with(at(STRIKES_S), kill(named(before)));
        tell(
            &kube_leader_election::service(),
            &story.with(before_send(&named(node), nth, STRIKES_S), pause(Who::Trigger, 2.0)),
        )
    };
    let told = others.flat_map(|node| (1..=8).map(move |nth| (node, nth))).map(paused);
    let two = told.filter(crate::world::Told::two_lead).count();
    assert!(two > 0, "no pause of a candidate lets two lead");
}

// kube-lease-manager 0.13.1: it "ensures that only a single instance of the lease managers holds the lock at any moment of
// time", and server-side apply "makes impossible concurrent locking" (`lib.rs`, lines 6 and 22).

/// `watch` sends nothing when a renewal fails (`manager.rs`, lines 617 to 627), and a request has no timeout: the channel
/// says `true` for as long as the API server cannot be reached.
#[test]
fn the_channel_says_true_for_as_long_as_the_server_cannot_be_reached() {
    let before = tell(&kube_lease_manager::service(), &quiet(&kube_lease_manager::service())).leader(STRIKES_S);
    let told = tell(
        &kube_lease_manager::service(),
        &quiet(&kube_lease_manager::service()).with(at(STRIKES_S), cut_off(named(before), 90.0)),
    );
    assert!(told.said("leads no more")[0].0 > STRIKES_S + 90.0, "{}", told.log());
    assert!(told.two_lead(), "{:?}", told.violated);
    let down = Fault::Kill { node: Who::Service, restart_after_ms: Some(60_000.0) };
    let told = tell(&kube_lease_manager::service(), &quiet(&kube_lease_manager::service()).with(at(STRIKES_S), down));
    assert!(told.two_lead(), "{:?}: {}", told.violated, told.log());
}

/// A renewal changes `renewTime` whoever holds the lease (`state.rs`, lines 167 to 177). One that was sent before a partition
/// and arrives after it sets the successor's back: the lease looks expired, and the former leader takes it from a leader that
/// has renewed it in time.
#[test]
fn a_late_renewal_takes_the_lease_from_the_successor() {
    let before = tell(&kube_lease_manager::service(), &quiet(&kube_lease_manager::service())).leader(STRIKES_S);
    let told = tell(
        &kube_lease_manager::service(),
        &quiet(&kube_lease_manager::service()).with(at(STRIKES_S), cut_off(named(before), 90.0)),
    );
    let next = told.writes.iter().find(|(at, by)| *at > STRIKES_S && *by != before).expect("somebody follows").1;
    let again = told.said(": leads").into_iter().rfind(|(_, node)| *node == before).expect("it led before").0;
    assert!(again > STRIKES_S + 90.0, "{}", told.log());
    // The successor was neither cut off nor late.
    assert!(told.last_write(next) > again, "{}", told.log());
}

/// An expired lease is released by force (`manager.rs`, line 723; `state.rs`, line 229), whoever holds it by then: a
/// candidate that stops for two seconds meanwhile removes a fresh lock, and takes it.
#[test]
fn a_candidate_releases_the_lock_of_the_new_leader() {
    let before = tell(&kube_lease_manager::service(), &quiet(&kube_lease_manager::service())).leader(STRIKES_S);
    let others = (0..3).map(NodeId).filter(|node| *node != before);
    let paused = |(node, nth): (NodeId, u64)| {
        let story = quiet(&kube_lease_manager::service()).with(at(STRIKES_S), kill(named(before)));
        tell(
            &kube_lease_manager::service(),
            &story.with(before_send(&named(node), nth, STRIKES_S), pause(Who::Trigger, 2.0)),
        )
    };
    let told = others.flat_map(|node| (1..=4).map(move |nth| (node, nth))).map(paused);
    let two = told.filter(Told::two_lead).count();
    assert!(two > 0, "no pause of a candidate lets two lead");
}

// kubert 0.25.0, `lease.rs`: its task is said to claim the lease "until the task completes or the lease is claimed by another
// process" (line 358), and to retry requests (line 410). The methods that configure the retries return a new builder, which
// is dropped (lines 376 to 378): what is left are three retries, without a pause where the lease is another's (line 387).

#[test]
fn a_process_never_stands_again_after_a_partition() {
    let before = tell(&kubert::service(), &quiet(&kubert::service())).leader(STRIKES_S);
    let told = tell(&kubert::service(), &quiet(&kubert::service()).with(at(STRIKES_S), cut_off(named(before), 90.0)));
    let ended = told.said("the manager has ended: Ok(Err(Timeout))");
    assert_eq!(ended.iter().map(|(_, node)| *node).collect::<Vec<_>>(), [before], "{}", told.log());
}

#[test]
fn nobody_leads_again_after_the_server_was_down() {
    let down = Fault::Kill { node: Who::Service, restart_after_ms: Some(40_000.0) };
    let told = tell(&kubert::service(), &quiet(&kubert::service()).with(at(STRIKES_S), down));
    assert_eq!(told.said("the manager has ended").len(), 3, "{}", told.log());
    let last = told.writes.last().expect("somebody led").0;
    assert!(last < STRIKES_S + kubert::service().lease_s, "{}", told.log());
}
