//! Chooses the lease that meets an availability target, given the pauses and crashes observed.
//!
//! A target allows a share of time without a leader. Crashes use it up faster the longer the lease; pauses that end a
//! lease early use it up faster the shorter the lease, since every change of leader costs a warm-up. The leases in
//! between meet the target. [`predict`] finds them by the lease's arithmetic, [`confidence`] gives the confidence that
//! so few pauses and crashes allow, and [`trial`] tries the advice in the simulated world.

pub mod confidence;
pub mod predict;
pub mod ratios;
pub mod trial;

pub use predict::{Choice, Dark, Situation};
use protocols::election::{Promise, Protocol, hazard};
use scenarios::Params;

/// The leases considered for one protocol, from shortest to longest.
#[derive(Clone, Debug)]
pub struct Ladder {
    pub protocol: &'static Protocol,
    pub steps: Vec<Choice>,
    /// The index of the step that meets the target with the wanted confidence and changes the leader least often.
    pub advised: Option<usize>,
}

/// Whether the protocol keeps one leader by effect whatever pauses; only such protocols are advised.
pub fn is_safe(protocol: &Protocol) -> bool {
    protocol.tokened && (protocol.promise)(hazard::PAUSE_BEYOND_LEASE, true) == Promise::Holds
}

/// Predicts each lease of `ttls_ms` for `protocol` under `params`, and picks the one that meets the target with the
/// fewest changes of leader; of equals, the shortest. Skips leases that the protocol refuses, and those that its
/// service rounds to one already present.
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
        // If the service rounds, advise the granted value itself.
        let rounded = Params { lease_ttl_ms: Some(granted_ms), ..params.clone() };
        let params = if rounded.granted_ttl_ms(protocol) == granted_ms { rounded } else { params };
        let drawn = params.timings(protocol).election_timeout_ms;
        // A plan's election timeouts start at two milliseconds.
        let refused = refused.is_err() || drawn.is_some_and(|(shortest_ms, _)| shortest_ms < 2);
        if refused || too_short(protocol, granted_ms) {
            continue;
        }
        if let Some(step) = steps.iter_mut().find(|step| step.granted_ms == granted_ms) {
            // Of values that round to the same lease, advise the nearest below it.
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
    // Of equals, `min_by` returns the first, which is the shortest.
    let advised = meets.min_by(|(_, a), (_, b)| a.dark.changes_a_day.total_cmp(&b.dark.changes_a_day));
    let advised = advised.map(|(place, _)| place);
    Ladder { protocol, steps, advised }
}

/// The shortest lease for client-go, in milliseconds: its records hold whole seconds, so that others may see a renewal
/// up to a second late, and shorter leases have no margin for that (`protocols/src/election/k8s.rs`).
const K8S_SHORTEST_MS: u64 = 5_000;

/// Whether a lease of this protocol may end although it was renewed in time.
fn too_short(protocol: &Protocol, granted_ms: u64) -> bool {
    protocol.name == "k8s-lease" && granted_ms < K8S_SHORTEST_MS
}

/// Whether a protocol can be deployed, rather than run in the simulation only. Of those that elect among the nodes
/// themselves, only a library's can.
pub fn is_deployable(protocol: &Protocol) -> bool {
    !protocol.elects_among_peers() || protocol.service.is_embedded
}

/// The ladder whose advice changes the leader least often; of equals, the one with the least dark time.
pub fn best(ladders: &[Ladder]) -> Option<(&Ladder, &Choice)> {
    let advised = ladders.iter().filter_map(|ladder| Some((ladder, &ladder.steps[ladder.advised?])));
    advised.min_by(|(_, first), (_, second)| {
        let changes = first.dark.changes_a_day.total_cmp(&second.dark.changes_a_day);
        changes.then(first.dark.share().total_cmp(&second.dark.share()))
    })
}
