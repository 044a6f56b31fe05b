//! Canaries of the traffic between a coordination service and its clients: lost answers, watches set on stale reads,
//! leases that end while a keepalive is in flight, a lost token counter.
//!
//! Each strikes a window of a few milliseconds, which scenarios and random plans rarely hit.

use super::{Above, Canary, DARK, ELECTIONS, MakePlan, breaks, compiled, figure, light, survives};
use crate::error::Failed;
use protocols::point::Point;
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
};

const LATENCY: Above = figure("election_latency_ms", |m| m.election_latency_ms.iter().copied().fold(0.0, f64::max));

const STOPS: Above = figure("stop_after_loss_ms", |m| m.stop_after_loss_ms.iter().copied().fold(0.0, f64::max));

pub(super) fn canaries() -> Vec<Canary> {
    vec![
        survives("the one in front goes before it is watched", ELECTIONS, 2.0, |seed, on| {
            gone_before_watch(seed, on, "etcd-election")
        }),
        survives("the one in front goes before it is watched: zk-election", ELECTIONS, 2.0, |seed, on| {
            gone_before_watch(seed, on, "zk-election")
        }),
        survives("the leader's key goes before it is watched", ELECTIONS, 1.0, own_key_gone_before_watch),
        survives("the one in front dies while the service restarts", ELECTIONS, 1.0, |seed, on| {
            gone_without_watch(seed, on, "etcd-election")
        }),
        survives("the controller dies while the service restarts", ELECTIONS, 1.0, |seed, on| {
            gone_without_watch(seed, on, "kafka-zk-controller")
        }),
        survives("a question is lost with its connection", ELECTIONS, 1.0, question_lost),
        held_by_one("the answer to a renewal is lost: object-lease", |seed, on| {
            renewal_unknown(seed, on, "object-lease")
        }),
        held_by_one("the answer to a renewal is lost: k8s-lease", |seed, on| renewal_unknown(seed, on, "k8s-lease")),
        survives("a keepalive after the end", ELECTIONS, 1.0, |seed, on| keepalive(seed, on, 3_000)),
        survives("a keepalive after the end of the shortest lease", ELECTIONS, 1.0, |seed, on| {
            keepalive(seed, on, 1_000)
        }),
        survives("a renewal after the end", ELECTIONS, 1.0, renewal),
        survives("who waits has lost its lease just now, not long ago", LATENCY, 350.0, waiter_without_lease),
        survives("a service that is silent for long", DARK, 2_000.0, silent),
        survives("the answer to a creation is lost", LATENCY, 1_000.0, creation_unknown),
        survives("the answer to a resignation is lost", ELECTIONS, 2.0, resignation_unknown),
        survives("no answer reaches the leader", DARK, 1_000.0, deaf_leader),
        survives("a resignation during a renewal: redis-lease", ELECTIONS, 2.0, |seed, on| {
            resigns_renewing(seed, on, "redis-lease")
        }),
        survives("a resignation during a renewal: redis-fenced", ELECTIONS, 2.0, |seed, on| {
            resigns_renewing(seed, on, "redis-fenced")
        }),
        survives("the answer to SET is lost", DARK, 2_200.0, |seed, on| unknown(seed, on, "redis-lease", 950.0)),
        survives("the answer to a script is lost", DARK, 2_200.0, |seed, on| unknown(seed, on, "redis-fenced", 950.0)),
        // Candidates ask for a row every 3 s.
        survives("a row cannot be taken back at once", DARK, 3_500.0, |seed, on| unknown(seed, on, "db-row", 1_900.0)),
        survives("SET cannot be taken back at once", DARK, 2_200.0, |seed, on| {
            unknown(seed, on, "redis-lease", 1_900.0)
        }),
        survives("a script cannot be taken back at once", DARK, 2_200.0, |seed, on| {
            unknown(seed, on, "redis-fenced", 1_900.0)
        }),
        survives("who looks again has lost its lease", ELECTIONS, 1.0, look_unknown),
        survives("a creation arrives after its lease", ELECTIONS, 1.0, creation_late),
        survives("a lease goes while nobody listens", STOPS, 400.0, dropped_unheard),
        survives("the answer to SET comes after the lease", ELECTIONS, 2.0, |seed, on| {
            answered_too_late(seed, on, "redis-lease")
        }),
        survives("the answer to a script comes after the lease", ELECTIONS, 2.0, |seed, on| {
            answered_too_late(seed, on, "redis-fenced")
        }),
        refused_for_long(),
        // The store refuses a token's second owner, so that nothing else is violated.
        Canary {
            safe: true,
            ..breaks("the counter of tokens is lost", &["elections", "phantom_leader"], counter_lost)
        },
    ]
}

/// The cause must not cost anybody the leadership.
fn held_by_one(name: &'static str, plan: MakePlan) -> Canary {
    Canary { safe: true, ..breaks(name, &[], plan) }.within(ELECTIONS, 1.0, 1.0)
}

/// The only candidate is elected in vain until its tokens exceed the former ones: a few times, at growing intervals.
fn refused_for_long() -> Canary {
    breaks("who is refused again and again waits", &["elections"], |seed, on| {
        let drop_lease = || Fault::DropLease { node: Who::Leader };
        let renumbered = (0..6).map(|place| at(2_000.0 + 1_500.0 * f64::from(place), drop_lease()));
        let lost = at(12_000.0, Fault::LoseData { node: Who::Service, restart_after_ms: Some(50.0) });
        let mut plan = steady("zk-selector", seed, 1, cause(on, renumbered.chain([lost]).collect()))?;
        // The former session expires after 4 s.
        (plan.duration_ms, plan.liveness_bound_ms) = (18_200, 20_000);
        Ok(plan)
    })
    .within(ELECTIONS, 9.0, 11.0)
}

/// A steady run of 20 s with `nodes` candidates, the first of which starts half a second before the others.
pub(super) fn steady(protocol: &str, seed: u64, nodes: u16, faults: Vec<PlannedFault>) -> Result<Plan, Failed> {
    with(protocol, seed, &Params { nodes, ..light() }, faults)
}

/// The same with other parameters.
fn with(protocol: &str, seed: u64, params: &Params, faults: Vec<PlannedFault>) -> Result<Plan, Failed> {
    let params = Params { duration_ms: Some(20_000), read_lease: Some(false), ..params.clone() };
    let mut plan = compiled("steady", protocol, seed, &params)?;
    for (place, candidate) in plan.candidates.iter_mut().enumerate() {
        candidate.starts_at_ms = if place == 0 { 0 } else { 500 };
    }
    plan.faults = faults;
    plan.requires.clear();
    Ok(plan)
}

pub(super) fn at(ms: f64, what: Fault) -> PlannedFault {
    PlannedFault { when: Trigger::At { ms }, what, group: 0 }
}

/// At the nth passage of a point after `after_ms`.
pub(super) fn passing(point: Point, node: Who, nth: u64, after_ms: f64, what: Fault) -> PlannedFault {
    let after = Some(Box::new(Trigger::At { ms: after_ms }));
    PlannedFault {
        when: Trigger::Passage { point: point.name().to_owned(), node, nth, after, delay_ms: 0.0, matching: None },
        what,
        group: 0,
    }
}

/// The service's answers to a node are lost; its requests are not.
fn unanswered(node: Who, for_ms: f64) -> Fault {
    Fault::Partition { from: vec![Who::Service], to: vec![node], one_way: true, for_ms: Some(for_ms) }
}

pub(super) fn drop_key() -> Fault {
    Fault::DropKey { node: Who::Leader }
}

fn service_dies() -> PlannedFault {
    at(5_000.0, Fault::Kill { node: Who::Service, restart_after_ms: Some(50.0) })
}

/// The given faults; the last one only with the cause.
pub(super) fn cause(on: bool, mut faults: Vec<PlannedFault>) -> Vec<PlannedFault> {
    if !on {
        faults.pop();
    }
    faults
}

/// A leader loses its key and queues behind its successor, whose key disappears after it was found and before it is
/// watched.
fn gone_before_watch(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let again = passing(Point::BeforeWait, Who::Candidates, 1, 5_000.0, drop_key());
    let mut plan = steady(protocol, seed, 2, cause(on, vec![at(5_000.0, drop_key()), again]))?;
    // A LeaderLatch learns of its own node's loss only after its successor's node exists.
    plan.dual_belief_bound_ms = plan.dual_belief_bound_ms.filter(|_| protocol != "zk-election");
    Ok(plan)
}

/// The only candidate leads, its watches break, and its key disappears after it was read and before it is watched
/// again.
fn own_key_gone_before_watch(seed: u64, on: bool) -> Result<Plan, Failed> {
    let drop = passing(Point::BeforeWatch, Who::Leader, 1, 5_000.0, drop_key());
    steady("etcd-election", seed, 1, cause(on, vec![service_dies(), drop]))
}

/// The service restarts, which ends the watch on the leader, and then the leader dies. Kafka's client does not ask
/// again after it reconnects: the connection has to restore the former one's watches.
fn gone_without_watch(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let kill = at(5_010.0, Fault::Kill { node: Who::Leader, restart_after_ms: None });
    steady(protocol, seed, 2, cause(on, vec![service_dies(), kill]))
}

/// The leader dies, and the service with the pending request of a successor.
fn question_lost(seed: u64, on: bool) -> Result<Plan, Failed> {
    let restart = Fault::Kill { node: Who::Service, restart_after_ms: Some(50.0) };
    let asked = passing(Point::BeforeCampaign, Who::Candidates, 1, 5_000.0, restart);
    let kill = at(5_000.0, Fault::Kill { node: Who::Leader, restart_after_ms: None });
    steady("kafka-zk-controller", seed, 2, cause(on, vec![asked, kill]))
}

/// A renewal takes effect without the leader learning of it: it has to read before it renews again.
fn renewal_unknown(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let lost = passing(Point::BeforeRenew, Who::Leader, 1, 5_000.0, unanswered(Who::Trigger, 490.0));
    let params = Params { nodes: 3, request_timeout_ms: Some(500), ..light() };
    with(protocol, seed, &params, cause(on, vec![lost]))
}

/// The leader's next keepalive arrives just after its lease expired, but before the service checked, or just before. A
/// keepalive is due a third of the lease after the last answer, and is sent at the next half-second tick.
fn keepalive(seed: u64, on: bool, asked_ms: u64) -> Result<Plan, Failed> {
    let (granted_ms, sent_after_ms) = if asked_ms < 2_000 { (2_000, 1_000) } else { (asked_ms, asked_ms / 2) };
    let late_ms = granted_ms - sent_after_ms;
    let extra_us = 1_000 * if on { late_ms + 2 } else { late_ms - 10 };
    let slow = Fault::Latency { from: vec![Who::Leader], to: vec![Who::Service], extra_us, for_ms: Some(2_600.0) };
    let slow = passing(Point::Renewed, Who::Leader, 1, 5_000.0, slow);
    with("etcd-election", seed, &Params { lease_ttl_ms: Some(asked_ms), ..light() }, vec![slow])
}

/// The same with a protocol that believes until Redis refuses, and without another candidate to take the key.
fn renewal(seed: u64, on: bool) -> Result<Plan, Failed> {
    let extra_us = if on { 2_004_000 } else { 1_990_000 };
    let slow = Fault::Latency { from: vec![Who::Leader], to: vec![Who::Service], extra_us, for_ms: Some(4_000.0) };
    steady("redis-naive", seed, 1, vec![passing(Point::Renewed, Who::Leader, 1, 5_000.0, slow)])
}

/// The leader's key disappears, and it dies. The waiter behind it has just lost its key, too; or it lost it so long ago
/// that a keepalive told it, and it has queued again. On a slow link the two differ by three one-way trips.
fn waiter_without_lease(seed: u64, on: bool) -> Result<Plan, Failed> {
    let (from, to) = (vec![Who::Candidates], vec![Who::Service]);
    let slow = Fault::Latency { from, to, extra_us: 100_000, for_ms: None };
    let lost_ms = if on { 9_499.0 } else { 5_000.0 };
    let faults = vec![
        at(4_000.0, slow),
        at(lost_ms, Fault::DropLease { node: Who::Followers }),
        at(9_500.0, drop_key()),
        at(9_500.1, Fault::Kill { node: Who::Leader, restart_after_ms: None }),
    ];
    steady("etcd-election", seed, 2, faults)
}

/// A client that does not notice the silence sends again only when TCP does, 12.6 s after the silence began.
fn silent(seed: u64, on: bool) -> Result<Plan, Failed> {
    let (from, to) = (vec![Who::Candidates], vec![Who::Service]);
    let cut = Fault::Partition { from, to, one_way: false, for_ms: Some(7_600.0) };
    let mut plan = steady("etcd-election", seed, 3, cause(on, vec![at(4_000.0, cut)]))?;
    plan.liveness_bound_ms = 3_000;
    Ok(plan)
}

/// A candidate does not learn that its key was created, and others queue behind that key before it asks again.
fn creation_unknown(seed: u64, on: bool) -> Result<Plan, Failed> {
    let first = || Who::Named("n1".to_owned());
    let lost = passing(Point::BeforeAsk, first(), 2, 0.0, unanswered(first(), 1_300.0));
    steady("etcd-election", seed, 3, cause(on, vec![lost]))
}

/// A candidate's request for a key arrives after its lease has ended: it must not get a key that nothing deletes. It
/// leads after the leader dies.
fn creation_late(seed: u64, on: bool) -> Result<Plan, Failed> {
    let first = || Who::Named("n1".to_owned());
    let (from, to) = (vec![first()], vec![Who::Service]);
    let slow = Fault::Latency { from, to, extra_us: 4_000_000, for_ms: Some(2_000.0) };
    let kill = at(8_000.0, Fault::Kill { node: Who::Leader, restart_after_ms: None });
    let slow = passing(Point::BeforeAsk, first(), 2, 0.0, slow);
    steady("etcd-election", seed, 2, cause(on, vec![slow, kill]))
}

/// A leader that resigned does not learn that its key was deleted; it must be ready when its successor dies.
fn resignation_unknown(seed: u64, on: bool) -> Result<Plan, Failed> {
    let resign = at(5_000.0, Fault::Resign { node: Who::Leader });
    let lost = passing(Point::BeforeRelease, Who::Leader, 1, 5_000.0, unanswered(Who::Trigger, 990.0));
    let kill = at(10_000.0, Fault::Kill { node: Who::Leader, restart_after_ms: None });
    steady("etcd-election", seed, 2, cause(on, vec![resign, lost, kill]))
}

/// The leader's keepalives extend its lease, but their answers are lost: when it steps down by its own clock, it must
/// revoke the lease, or nobody leads until it ends. With the cause, no other candidate could lead anyway.
fn deaf_leader(seed: u64, on: bool) -> Result<Plan, Failed> {
    let deaf = at(5_000.0, unanswered(Who::Leader, 10_000.0));
    let others = at(5_000.0, unanswered(Who::Followers, 10_000.0));
    steady("etcd-election", seed, 2, cause(on, vec![deaf, others]))
}

/// A leader that resigned during a renewal must be ready when its successor dies.
fn resigns_renewing(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let resign = passing(Point::BeforeRenew, Who::Leader, 1, 5_000.0, Fault::Resign { node: Who::Trigger });
    let kill = at(13_000.0, Fault::Kill { node: Who::Leader, restart_after_ms: None });
    steady(protocol, seed, 2, cause(on, vec![resign, kill]))
}

/// The only candidate's key disappears. It takes the key again but the answer is lost, for a while even on a new
/// connection: it must release the key, or wait until the orphaned lease of 6 s ends. It asks every 2 s.
fn unknown(seed: u64, on: bool, protocol: &str, for_ms: f64) -> Result<Plan, Failed> {
    let lost = passing(Point::BeforeCampaign, Who::Candidates, 1, 5_000.0, unanswered(Who::Trigger, for_ms));
    let faults = cause(on, vec![at(5_000.0, drop_key()), lost]);
    let mut plan = with(protocol, seed, &Params { nodes: 1, lease_ttl_ms: Some(6_000), ..light() }, faults)?;
    plan.liveness_bound_ms = 3_000;
    Ok(plan)
}

/// The first candidate does not learn that it is at the head of the queue, and when it asks again its lease has ended,
/// which no keepalive has told it yet. The second leads until it resigns.
fn look_unknown(seed: u64, on: bool) -> Result<Plan, Failed> {
    let first = || Who::Named("n1".to_owned());
    let lost = passing(Point::BeforeAsk, first(), 3, 0.0, unanswered(first(), 650.0));
    let dropped = at(900.0, Fault::DropLease { node: first() });
    let resign = at(10_000.0, Fault::Resign { node: Who::Leader });
    let params = Params { nodes: 2, request_timeout_ms: Some(700), ..light() };
    with("etcd-election", seed, &params, cause(on, vec![lost, dropped, resign]))
}

/// A lease ends while its holder has neither a watch nor a keepalive stream. It is told when it has them again; if no
/// answer reaches it, it steps down by its own clock.
fn dropped_unheard(seed: u64, on: bool) -> Result<Plan, Failed> {
    let dropped = at(5_300.0, Fault::DropLease { node: Who::Leader });
    let deaf = at(5_200.0, unanswered(Who::Leader, 3_000.0));
    steady("etcd-election", seed, 1, cause(on, vec![service_dies(), dropped, deaf]))
}

/// The only candidate's key disappears; it takes it again, but pauses past the lease before it reads the answer, and
/// must take it once more. It leads for the third time only when the key disappears again.
fn answered_too_late(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let mut stop = passing(
        Point::BeforeCampaign,
        Who::Candidates,
        1,
        5_000.0,
        Fault::Pause { node: Who::Trigger, for_ms: 3_500.0 },
    );
    let point = Point::Answered.name().to_owned();
    let after = Some(Box::new(stop.when));
    stop.when = Trigger::Passage { point, node: Who::Candidates, nth: 1, after, delay_ms: 0.0, matching: None };
    let again = at(14_000.0, drop_key());
    steady(protocol, seed, 1, cause(on, vec![at(5_000.0, drop_key()), stop, again]))
}

/// The next leader is granted a token that was already used.
fn counter_lost(seed: u64, on: bool) -> Result<Plan, Failed> {
    let lost = at(5_000.0, Fault::DropKey { node: Who::Service });
    let mut plan = steady("redis-fenced", seed, 3, cause(on, vec![at(6_000.0, drop_key()), lost]))?;
    // The former leader believes for some milliseconds more.
    plan.dual_belief_bound_ms = None;
    Ok(plan)
}
