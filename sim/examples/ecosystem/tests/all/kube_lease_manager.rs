//! kube-lease-manager 0.13.1: it "ensures that only a single instance of the lease managers holds the lock at any moment of
//! time", and server-side apply "makes impossible concurrent locking" (`lib.rs`, lines 6 and 22).

use crate::{
    services::kube_lease_manager::service,
    suite::{STRIKES_S, quiet},
    world::{Told, at, before_send, cut_off, kill, named, pause, tell},
};
use protocols::types::NodeId;
use scenarios::fault::{Fault, Who};

/// `watch` sends nothing when a renewal fails (`manager.rs`, lines 617 to 627), and a request has no timeout: the channel
/// says `true` for as long as the API server cannot be reached.
#[test]
fn the_channel_says_true_for_as_long_as_the_server_cannot_be_reached() {
    let before = tell(&service(), &quiet(&service())).leader(STRIKES_S);
    let told = tell(&service(), &quiet(&service()).with(at(STRIKES_S), cut_off(named(before), 90.0)));
    assert!(told.said("leads no more")[0].0 > STRIKES_S + 90.0, "{}", told.log());
    assert!(told.two_lead(), "{:?}", told.violated);
    let down = Fault::Kill { node: Who::Service, restart_after_ms: Some(60_000.0) };
    let told = tell(&service(), &quiet(&service()).with(at(STRIKES_S), down));
    assert!(told.two_lead(), "{:?}: {}", told.violated, told.log());
}

/// A renewal changes `renewTime` whoever holds the lease (`state.rs`, lines 167 to 177). One that was sent before a partition
/// and arrives after it sets the successor's back: the lease looks expired, and the former leader takes it from a leader that
/// has renewed it in time.
#[test]
fn a_late_renewal_takes_the_lease_from_the_successor() {
    let before = tell(&service(), &quiet(&service())).leader(STRIKES_S);
    let told = tell(&service(), &quiet(&service()).with(at(STRIKES_S), cut_off(named(before), 90.0)));
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
    let before = tell(&service(), &quiet(&service())).leader(STRIKES_S);
    let others = (0..3).map(NodeId).filter(|node| *node != before);
    let paused = |(node, nth): (NodeId, u64)| {
        let story = quiet(&service()).with(at(STRIKES_S), kill(named(before)));
        tell(&service(), &story.with(before_send(&named(node), nth, STRIKES_S), pause(Who::Trigger, 2.0)))
    };
    let told = others.flat_map(|node| (1..=4).map(move |nth| (node, nth))).map(paused);
    let two = told.filter(Told::two_lead).count();
    assert!(two > 0, "no pause of a candidate lets two lead");
}
