//! Which lease serves an availability target, from the pauses and crashes that there are.
//!
//! A target leaves a share of time in which nobody needs to lead. Crashes use it up faster the longer the lease; pauses
//! that end a lease too early use it up faster the shorter the lease, since every change of leader costs a warm-up. What lies
//! between meets the target. [`predict`] says which from the lease's arithmetic, [`confidence`] how sure one can be of
//! it after so few pauses and crashes, and [`trial`] tries the advice in the world.

mod choice;
pub mod confidence;
pub mod predict;
pub mod ratios;
mod situation;
pub mod trial;

use protocols::election::{Hazard, Promise, Protocol};
use scenarios::Params;

pub use choice::Choice;
pub use predict::Dark;
pub use situation::Situation;

/// All leases of one protocol that were looked at, from the shortest to the longest.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// The protocol.
    pub protocol: &'static Protocol,
    /// Its leases.
    pub steps: Vec<Choice>,
    /// The place of the one that meets the target with the wanted confidence and changes the leader least often.
    pub advised: Option<usize>,
}

/// Protocols that keep one leader by effect whatever pauses: nothing else is advised.
pub fn is_safe(protocol: &Protocol) -> bool {
    protocol.tokened && (protocol.promise)(Hazard::PauseBeyondLease, true) == Promise::Holds
}

/// What each lease of `ttls_ms` would come to for `protocol` under `params`, and which to take: of those that meet the target,
/// the one with the fewest changes of leader, and the shortest of equal ones. Leases that the protocol refuses, or that its service rounds to one
/// that is there already, are left out.
pub fn ladder(
    situation: &Situation,
    protocol: &'static Protocol,
    params: &Params,
    ttls_ms: &[u64],
    wanted: f64,
) -> Ladder {
    let mut steps: Vec<Choice> = Vec::new();
    for ttl_ms in ttls_ms {
        let params = Params { lease_ttl_ms: Some(*ttl_ms), ..params.clone() };
        let refused = scenarios::sense::options(&params).and_then(|()| scenarios::sense::timers(&params, protocol));
        let granted_ms = params.granted_ttl_ms(protocol);
        // Where a service rounds, what it grants is what people type.
        let rounded = Params { lease_ttl_ms: Some(granted_ms), ..params.clone() };
        let params = if rounded.granted_ttl_ms(protocol) == granted_ms { rounded } else { params };
        let drawn = params.timings(protocol).election_timeout_ms;
        // A plan draws election timeouts from two milliseconds on.
        let refused = refused.is_err() || drawn.is_some_and(|(shortest_ms, _)| shortest_ms < 2);
        if refused || too_short(protocol, granted_ms) {
            continue;
        }
        if let Some(step) = steps.iter_mut().find(|step| step.granted_ms == granted_ms) {
            // Of all that come to the same lease, what is nearest to it is what people type.
            if params.lease_ttl_ms > step.params.lease_ttl_ms && params.lease_ttl_ms <= Some(granted_ms) {
                step.params = params;
            }
            continue;
        }
        let lease = predict::Lease::of(&params, protocol);
        steps.push(Choice {
            protocol,
            granted_ms,
            renew_ms: params.timings(protocol).renew_interval_ms,
            dark: predict::dark(situation, &lease),
            confidence: confidence::of(situation, &lease),
            params,
        });
    }
    steps.sort_by_key(|step| step.granted_ms);
    let meets = steps.iter().enumerate().filter(|(_, step)| step.confidence >= wanted);
    // The first of equal ones is the shortest.
    let advised = meets.min_by(|(_, a), (_, b)| a.dark.changes_a_day.total_cmp(&b.dark.changes_a_day));
    let advised = advised.map(|(place, _)| place);
    Ladder { protocol, steps, advised }
}

/// client-go's records have times in whole seconds, so that a renewal may be up to a second old when others see it: shorter
/// leases than this have no margin for that (`protocols/src/election/k8s.rs`), milliseconds.
const K8S_SHORTEST_MS: u64 = 5_000;

/// Would a lease of this protocol end although it was renewed in time?
fn too_short(protocol: &Protocol, granted_ms: u64) -> bool {
    protocol.name == "k8s-lease" && granted_ms < K8S_SHORTEST_MS
}

/// Can a protocol be deployed, or does it run in the simulation only? Of those that elect among the nodes themselves, only a
/// library's own can.
pub fn is_deployable(protocol: &Protocol) -> bool {
    !protocol.elects_among_peers() || protocol.service.is_embedded
}

/// The ladder whose advice changes the leader least often, and of those the one that leaves the least time dark.
pub fn best(ladders: &[Ladder]) -> Option<(&Ladder, &Choice)> {
    let advised = ladders.iter().filter_map(|ladder| Some((ladder, &ladder.steps[ladder.advised?])));
    advised.min_by(|(_, first), (_, second)| {
        let changes = first.dark.changes_a_day.total_cmp(&second.dark.changes_a_day);
        changes.then(first.dark.share().total_cmp(&second.dark.share()))
    })
}
