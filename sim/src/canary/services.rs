//! Canaries of what lies between a coordination service and its clients: answers that are lost, watches that are built on
//! what was read before, leases that end while a keepalive is under way, a counter that is not there any more.
//!
//! Each strikes one window of a few milliseconds, which scenarios and drawn plans hit rarely.

use super::{Above, Canary, DARK, ELECTIONS, MakePlan, breaks, compiled, figure, light, survives};
use crate::error::Failed;
use protocols::point::Point;
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
};

const LATENCY: Above = figure("election_latency_ms", |m| m.election_latency_ms.iter().copied().fold(0.0, f64::max));

const STOPS: Above = figure("stop_after_loss_ms", |m| m.stop_after_loss_ms.iter().copied().fold(0.0, f64::max));

/// All of them.
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
        // A row is asked for every 3 s.
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
        // The store refuses the second owner of a token, so that nothing else is violated.
        Canary {
            safe: true,
            ..breaks("the counter of tokens is lost", &["elections", "phantom_leader"], counter_lost)
        },
    ]
}

/// What happens must cost nobody the leadership.
fn held_by_one(name: &'static str, plan: MakePlan) -> Canary {
    Canary { safe: true, ..breaks(name, &[], plan) }.within(ELECTIONS, 1.0, 1.0)
}

/// Until its tokens have caught up with those of before, the only candidate is elected for nothing: a few times, further and
/// further apart.
fn refused_for_long() -> Canary {
    breaks("who is refused again and again waits", &["elections"], |seed, on| {
        let drop_lease = || Fault::DropLease { node: Who::Leader };
        let renumbered = (0..6).map(|place| at(2_000.0 + 1_500.0 * f64::from(place), drop_lease()));
        let lost = at(12_000.0, Fault::LoseData { node: Who::Service, restart_after_ms: Some(50.0) });
        let mut plan = steady("zk-selector", seed, 1, cause(on, renumbered.chain([lost]).collect()))?;
        // The session of before is over after 4 s.
        (plan.duration_ms, plan.liveness_bound_ms) = (18_200, 20_000);
        Ok(plan)
    })
    .within(ELECTIONS, 9.0, 11.0)
}

/// A steady run of 20 s with so many candidates, the first of which comes half a second before the others.
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

/// At the nth passage after a time.
pub(super) fn passing(point: Point, node: Who, nth: u64, after_ms: f64, what: Fault) -> PlannedFault {
    let after = Some(Box::new(Trigger::At { ms: after_ms }));
    PlannedFault {
        when: Trigger::Passage { point: point.name().to_owned(), node, nth, after, delay_ms: 0.0 },
        what,
        group: 0,
    }
}

/// Answers of the service to a node are lost, and what it asks is not.
fn unanswered(node: Who, for_ms: f64) -> Fault {
    Fault::Partition { from: vec![Who::Service], to: vec![node], one_way: true, for_ms: Some(for_ms) }
}

pub(super) fn drop_key() -> Fault {
    Fault::DropKey { node: Who::Leader }
}

fn service_dies() -> PlannedFault {
    at(5_000.0, Fault::Kill { node: Who::Service, restart_after_ms: Some(50.0) })
}

/// Those faults, the last of them only with the cause.
pub(super) fn cause(on: bool, mut faults: Vec<PlannedFault>) -> Vec<PlannedFault> {
    if !on {
        faults.pop();
    }
    faults
}

/// A leader loses its key and stands behind its successor. That one's key goes after it was found, before it is watched.
fn gone_before_watch(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let again = passing(Point::BeforeWait, Who::Candidates, 1, 5_000.0, drop_key());
    let mut plan = steady(protocol, seed, 2, cause(on, vec![at(5_000.0, drop_key()), again]))?;
    // A LeaderLatch hears of its own node when its successor's is there already.
    plan.dual_belief_bound_ms = plan.dual_belief_bound_ms.filter(|_| protocol != "zk-election");
    Ok(plan)
}

/// The only candidate leads, its watches break, and its key goes after it was read, before it is watched again. Nobody else
/// tells it.
fn own_key_gone_before_watch(seed: u64, on: bool) -> Result<Plan, Failed> {
    let drop = passing(Point::BeforeWatch, Who::Leader, 1, 5_000.0, drop_key());
    steady("etcd-election", seed, 1, cause(on, vec![service_dies(), drop]))
}

/// The watch on a leader is gone with the service, and then the leader. Kafka's client asks for nothing when it is connected again:
/// the connection has to tell what was watched on the one before.
fn gone_without_watch(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let kill = at(5_010.0, Fault::Kill { node: Who::Leader, restart_after_ms: None });
    steady(protocol, seed, 2, cause(on, vec![service_dies(), kill]))
}

/// The leader dies, and the service with the question of who wants to succeed it.
fn question_lost(seed: u64, on: bool) -> Result<Plan, Failed> {
    let restart = Fault::Kill { node: Who::Service, restart_after_ms: Some(50.0) };
    let asked = passing(Point::BeforeCampaign, Who::Candidates, 1, 5_000.0, restart);
    let kill = at(5_000.0, Fault::Kill { node: Who::Leader, restart_after_ms: None });
    steady("kafka-zk-controller", seed, 2, cause(on, vec![asked, kill]))
}

/// A renewal takes effect, and the leader does not hear of it: it has to look before it renews again.
fn renewal_unknown(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let lost = passing(Point::BeforeRenew, Who::Leader, 1, 5_000.0, unanswered(Who::Trigger, 490.0));
    let params = Params { nodes: 3, request_timeout_ms: Some(500), ..light() };
    with(protocol, seed, &params, cause(on, vec![lost]))
}

/// The leader's next keepalive arrives when its lease has just ended and was not yet looked for, or just before. A keepalive
/// is due a third of the lease after the last was answered, and goes out at the next of ticks that are half a second apart.
fn keepalive(seed: u64, on: bool, asked_ms: u64) -> Result<Plan, Failed> {
    let (granted_ms, sent_after_ms) = if asked_ms < 2_000 { (2_000, 1_000) } else { (asked_ms, asked_ms / 2) };
    let late_ms = granted_ms - sent_after_ms;
    let extra_us = 1_000 * if on { late_ms + 2 } else { late_ms - 10 };
    let slow = Fault::Latency { from: vec![Who::Leader], to: vec![Who::Service], extra_us, for_ms: Some(2_600.0) };
    let slow = passing(Point::Renewed, Who::Leader, 1, 5_000.0, slow);
    with("etcd-election", seed, &Params { lease_ttl_ms: Some(asked_ms), ..light() }, vec![slow])
}

/// The same of the protocol that believes until Redis says no, without anybody who would take the key.
fn renewal(seed: u64, on: bool) -> Result<Plan, Failed> {
    let extra_us = if on { 2_004_000 } else { 1_990_000 };
    let slow = Fault::Latency { from: vec![Who::Leader], to: vec![Who::Service], extra_us, for_ms: Some(4_000.0) };
    steady("redis-naive", seed, 1, vec![passing(Point::Renewed, Who::Leader, 1, 5_000.0, slow)])
}

/// The leader's key goes, and it dies. Who waited behind it has no key any more: since the moment before, or for so long
/// that a keepalive has told it, and it stands in the queue again. On a slow link the difference is three ways.
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

/// Whoever does not notice that nothing comes any more sends again only when TCP does, 12.6 s after the beginning of the
/// silence.
fn silent(seed: u64, on: bool) -> Result<Plan, Failed> {
    let (from, to) = (vec![Who::Candidates], vec![Who::Service]);
    let cut = Fault::Partition { from, to, one_way: false, for_ms: Some(7_600.0) };
    let mut plan = steady("etcd-election", seed, 3, cause(on, vec![at(4_000.0, cut)]))?;
    plan.liveness_bound_ms = 3_000;
    Ok(plan)
}

/// A candidate does not hear that its key was created, and others stand behind it before it asks again.
fn creation_unknown(seed: u64, on: bool) -> Result<Plan, Failed> {
    let first = || Who::Named("n1".to_owned());
    let lost = passing(Point::BeforeAsk, first(), 2, 0.0, unanswered(first(), 1_300.0));
    steady("etcd-election", seed, 3, cause(on, vec![lost]))
}

/// A candidate has a lease, and its wish for a key arrives when that has gone: it must not get one that nobody ends. It
/// leads when who leads has died.
fn creation_late(seed: u64, on: bool) -> Result<Plan, Failed> {
    let first = || Who::Named("n1".to_owned());
    let (from, to) = (vec![first()], vec![Who::Service]);
    let slow = Fault::Latency { from, to, extra_us: 4_000_000, for_ms: Some(2_000.0) };
    let kill = at(8_000.0, Fault::Kill { node: Who::Leader, restart_after_ms: None });
    let slow = passing(Point::BeforeAsk, first(), 2, 0.0, slow);
    steady("etcd-election", seed, 2, cause(on, vec![slow, kill]))
}

/// Who resigned does not hear that its key was deleted; it must be there when its successor dies.
fn resignation_unknown(seed: u64, on: bool) -> Result<Plan, Failed> {
    let resign = at(5_000.0, Fault::Resign { node: Who::Leader });
    let lost = passing(Point::BeforeRelease, Who::Leader, 1, 5_000.0, unanswered(Who::Trigger, 990.0));
    let kill = at(10_000.0, Fault::Kill { node: Who::Leader, restart_after_ms: None });
    steady("etcd-election", seed, 2, cause(on, vec![resign, lost, kill]))
}

/// The leader's keepalives keep its lease, and it does not hear of it: when it stops by its own clock, it must end the
/// lease, or nobody leads until that ends. With the cause there is nobody else anyway.
fn deaf_leader(seed: u64, on: bool) -> Result<Plan, Failed> {
    let deaf = at(5_000.0, unanswered(Who::Leader, 10_000.0));
    let others = at(5_000.0, unanswered(Who::Followers, 10_000.0));
    steady("etcd-election", seed, 2, cause(on, vec![deaf, others]))
}

/// Whoever resigned while it was being renewed must be there when its successor dies.
fn resigns_renewing(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let resign = passing(Point::BeforeRenew, Who::Leader, 1, 5_000.0, Fault::Resign { node: Who::Trigger });
    let kill = at(13_000.0, Fault::Kill { node: Who::Leader, restart_after_ms: None });
    steady(protocol, seed, 2, cause(on, vec![resign, kill]))
}

/// The only candidate's key goes, and when it takes it again it does not hear that it has it, for a while not even on a new
/// connection: it must give it back, or wait for the end of a lease that is nobody's. That is 6 s, and it asks every 2 s.
fn unknown(seed: u64, on: bool, protocol: &str, for_ms: f64) -> Result<Plan, Failed> {
    let lost = passing(Point::BeforeCampaign, Who::Candidates, 1, 5_000.0, unanswered(Who::Trigger, for_ms));
    let faults = cause(on, vec![at(5_000.0, drop_key()), lost]);
    let mut plan = with(protocol, seed, &Params { nodes: 1, lease_ttl_ms: Some(6_000), ..light() }, faults)?;
    plan.liveness_bound_ms = 3_000;
    Ok(plan)
}

/// The first candidate does not hear that nobody is in front of it, and when it asks again its lease has gone, which no
/// keepalive has told it yet. The second leads; nobody else does before that one resigns.
fn look_unknown(seed: u64, on: bool) -> Result<Plan, Failed> {
    let first = || Who::Named("n1".to_owned());
    let lost = passing(Point::BeforeAsk, first(), 3, 0.0, unanswered(first(), 650.0));
    let dropped = at(900.0, Fault::DropLease { node: first() });
    let resign = at(10_000.0, Fault::Resign { node: Who::Leader });
    let params = Params { nodes: 2, request_timeout_ms: Some(700), ..light() };
    with("etcd-election", seed, &params, cause(on, vec![lost, dropped, resign]))
}

/// A lease goes while its holder has neither a watch nor a stream of keepalives. When it has them again it is told, unless
/// no answer reaches it: then it stops by its own clock.
fn dropped_unheard(seed: u64, on: bool) -> Result<Plan, Failed> {
    let dropped = at(5_300.0, Fault::DropLease { node: Who::Leader });
    let deaf = at(5_200.0, unanswered(Who::Leader, 3_000.0));
    steady("etcd-election", seed, 1, cause(on, vec![service_dies(), dropped, deaf]))
}

/// The only candidate's key goes, it takes it again, and stops before it knows of that for longer than it may lead: it must
/// take it once more. It leads for the third time only when the key goes again.
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
    stop.when = Trigger::Passage { point, node: Who::Candidates, nth: 1, after, delay_ms: 0.0 };
    let again = at(14_000.0, drop_key());
    steady(protocol, seed, 1, cause(on, vec![at(5_000.0, drop_key()), stop, again]))
}

/// The next leader is given a token that somebody had before.
fn counter_lost(seed: u64, on: bool) -> Result<Plan, Failed> {
    let lost = at(5_000.0, Fault::DropKey { node: Who::Service });
    let mut plan = steady("redis-fenced", seed, 3, cause(on, vec![at(6_000.0, drop_key()), lost]))?;
    // For some milliseconds the one whose key was dropped believes beside the next.
    plan.dual_belief_bound_ms = None;
    Ok(plan)
}
